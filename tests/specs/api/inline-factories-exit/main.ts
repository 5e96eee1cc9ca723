import { createAgentSession, type ExtensionAPI, SessionManager } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
	pi.registerTool({
		name: "delegate",
		label: "Delegate",
		description: "Gives a task to another session",
		parameters: Type.Object({}),
		async execute(_id, _params, _signal, _onUpdate, ctx) {
			const ending = (inner: ExtensionAPI) => {
				inner.on("agent_start", () => process.exit(3));
			};
			const { session } = await createAgentSession({
				sessionManager: SessionManager.inMemory(ctx.cwd),
				extensions: [ending],
			} as any);
			await session.prompt("hello");
			console.log("never printed");
			return { content: [], details: {} };
		},
	});
}
