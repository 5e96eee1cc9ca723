import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerCommand("ask", {
		handler: async (_args, ctx) => {
			const context = { messages: [{ role: "user", content: "from the command", timestamp: 1 }] };
			await (ctx.modelRegistry as any).complete(ctx.model, context, { temperature: 0.5, maxTokens: 64 });
		},
	});
}
