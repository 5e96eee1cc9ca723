import { createAgentSession, SessionManager } from "@earendil-works/pi-coding-agent";

export default function (pi: any) {
	pi.registerTool({
		name: "delegate",
		label: "Delegate",
		description: "Gives a slow task to another session",
		parameters: { type: "object", properties: {} },
		async execute(_id: string, _params: any, _signal: any, onUpdate: any, ctx: any) {
			const { session } = await createAgentSession({ sessionManager: SessionManager.inMemory(ctx.cwd) });
			session.subscribe((event: any) => {
				if (event.type === "tool_execution_start") onUpdate({ content: [{ type: "text", text: "child works" }] });
			});
			await session.prompt('wait\n@tool bash {"command":"sleep 600"}');
			const last: any = session.messages.findLast((message: any) => message.role === "assistant");
			return { content: [{ type: "text", text: `child ${last.stopReason}, idle=${session.isIdle}` }], details: {} };
		},
	});
}
