import { createAgentSession, SessionManager } from "@earendil-works/pi-coding-agent";

export default function (pi: any) {
	pi.registerCommand("start", {
		description: "Starts a session and leaves it running",
		handler: async (_args: string, ctx: any) => {
			const { session } = await createAgentSession({ sessionManager: SessionManager.inMemory(ctx.cwd) });
			const started = new Promise<void>((resolve) => {
				session.subscribe((event: any) => {
					if (event.type === "tool_execution_update" && event.partialResult.content[0]?.text?.includes("up")) resolve();
				});
			});
			session.prompt('x\n@tool bash {"command":"echo $$ > pid; echo up; exec sleep 600"}').catch(() => undefined);
			await started;
		},
	});
	pi.registerCommand("again", { description: "Reloads", handler: (_args: string, ctx: any) => ctx.reload() });
}
