import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	const look = (when: string, ctx: ExtensionContext) =>
		console.log(`${when}: idle ${ctx.isIdle()}, signal ${ctx.signal !== undefined}`);
	pi.on("turn_start", (_event, ctx) => look("turn", ctx));
	pi.on("agent_settled", (_event, ctx) => look("settled", ctx));
	pi.registerCommand("look", { handler: async (_args, ctx) => look("command", ctx) });
}
