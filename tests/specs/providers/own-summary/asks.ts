import { compact, DEFAULT_COMPACTION_SETTINGS, generateSummary } from "@earendil-works/pi-coding-agent";

export default function (pi: any) {
	pi.registerCommand("ask", {
		handler: async (_args: string, ctx: any) => {
			const model = ctx.modelRegistry.find("own", "m");
			const messages: any[] = [{ role: "user", content: "hello", timestamp: 1 }];
			console.log(`summary: ${await generateSummary(messages, model, 100, undefined)}`);
			const preparation = {
				firstKeptEntryId: "x",
				messagesToSummarize: messages,
				turnPrefixMessages: [],
				isSplitTurn: false,
				tokensBefore: 1,
				settings: DEFAULT_COMPACTION_SETTINGS,
			};
			const { summary, usage } = await compact(preparation as any, model, undefined);
			console.log(`compacted: ${summary} usage ${usage?.totalTokens}`);
			await generateSummary(messages, ctx.modelRegistry.find("own", "broken"), 100, undefined).catch((error: Error) =>
				console.log(`failed: ${error.message}`),
			);
		},
	});
}
