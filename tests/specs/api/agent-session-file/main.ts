import { existsSync } from "node:fs";
import { createAgentSession, SessionManager } from "@earendil-works/pi-coding-agent";

const roles = (entries: any[]) =>
	entries.flatMap((entry) => (entry.type === "message" && entry.message.role !== "system" ? [entry.message.role] : [])).join(",");

export default function (pi: any) {
	pi.registerCommand("try", {
		description: "Writes a session, opens it again, goes on",
		handler: async (_args: string, ctx: any) => {
			const manager = SessionManager.create(ctx.cwd, `${ctx.cwd}/sessions`);
			const file = manager.getSessionFile() as string;
			const first = await createAgentSession({ sessionManager: manager, noTools: "all" });
			await first.session.prompt("one");
			if (!existsSync(file) || manager.getSessionFile() !== file) throw new Error(`not written to ${file}`);
			console.log(`first ${roles(manager.getEntries())}`);
			await first.session.dispose();

			const { session } = await createAgentSession({ sessionManager: SessionManager.open(file), noTools: "all" });
			session.setSessionName("worker");
			session.sessionManager.appendCustomEntry("note", { kept: true });
			const started = new Promise<void>((resolve) => {
				session.subscribe((event: any) => event.type === "agent_start" && resolve());
			});
			// Ends only when it is aborted, so the other prompt finds the session busy however slow the machine is.
			const running = session.prompt("two\n@delay 600000");
			await started;
			await session.prompt("three").catch((error: Error) => console.log(`busy: ${error.message}`));
			await session.abort();
			await running;
			console.log(
				`second ${roles(session.sessionManager.getEntries())} level=${session.thinkingLevel} name=${session.sessionName}`,
			);
			await session.dispose();
			const stored = SessionManager.open(file).getEntries();
			console.log(`own entry kept: ${stored.some((entry: any) => entry.customType === "note" && entry.data.kept)}`);
			await createAgentSession({ model: { provider: "nobody", id: "x", name: "x", api: "x" } as any }).catch((error: Error) =>
				console.log(`bad model: ${error.message}`),
			);
		},
	});
}
