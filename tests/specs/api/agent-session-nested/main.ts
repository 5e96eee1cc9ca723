import { createAgentSession, SessionManager } from "@earendil-works/pi-coding-agent";

export default function (pi: any) {
	pi.on("session_start", async (_event: any, ctx: any) => {
		try {
			const { session } = await createAgentSession({ sessionManager: SessionManager.inMemory(ctx.cwd) });
			await session.bindExtensions({});
		} catch (error) {
			console.log(`refused: ${(error as Error).message}`);
		}
	});
}
