import { basename } from "node:path";
import {
	createAgentSession,
	DefaultResourceLoader,
	type ExtensionAPI,
	SessionManager,
	SettingsManager,
} from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
	let toolCall = "";
	let child = "";
	const asked = Promise.withResolvers<void>();
	(pi as any).onLlmTrace(({ sessionId, requestRole: role }: any) => {
		if (role.helper === "extension") asked.resolve();
		const known = sessionId === child && role.agentId === child;
		const by = role.extension && basename(role.extension);
		const place = role.parentToolCallId === undefined ? "" : ` in ${role.parentToolCallId === toolCall ? "delegate" : "?"}`;
		console.log(`${role.kind} helper=${role.helper ?? (known ? undefined : "")} depth=${role.depth} by ${by}${place}, session known=${known}`);
	});
	pi.registerTool({
		name: "delegate",
		label: "Delegate",
		description: "Gives a task to another session",
		parameters: Type.Object({}),
		async execute(id, _params, _signal, _onUpdate, ctx) {
			toolCall = id;
			const { session } = await createAgentSession({
				sessionManager: SessionManager.inMemory(ctx.cwd),
				settingsManager: SettingsManager.inMemory({ compaction: { enabled: false, keepRecentTokens: 1 } } as any),
				resourceLoader: new DefaultResourceLoader({
					noExtensions: true,
					additionalExtensionPaths: ["inner.ts"],
				} as any),
			});
			child = session.sessionId;
			await session.prompt("hello");
			await session.prompt("/ask");
			// The answer is there before its record.
			await asked.promise;
			await session.prompt("more words, so that there is something to keep and something to drop");
			await session.compact().catch((error: Error) => console.log(error.message));
			session.dispose();
			return { content: [{ type: "text", text: "done" }], details: {} };
		},
	});
}
