import { basename } from "node:path";
import { createAgentSession, DefaultResourceLoader, SessionManager, SettingsManager } from "@earendil-works/pi-coding-agent";

const TASK = 'x\n@tool bash {"command":"echo ran"}';

export default function (pi: any) {
	pi.registerCommand("try", {
		description: "Runs bash in two sessions",
		handler: async (_args: string, ctx: any) => {
			const guarded = await createAgentSession({ sessionManager: SessionManager.inMemory(ctx.cwd) });
			await guarded.session.prompt(TASK);
			const loader = new DefaultResourceLoader({
				cwd: ctx.cwd,
				noExtensions: true,
				systemPromptOverride: () => "You do as you are told.",
			} as any);
			await loader.reload();
			const free = await createAgentSession({
				resourceLoader: loader,
				sessionManager: SessionManager.inMemory(ctx.cwd),
				settingsManager: SettingsManager.inMemory({ compaction: { enabled: false } }),
			} as any);
			await free.session.prompt(TASK);
			const result = (session: any) => {
				const { content } = session.messages.find((message: any) => message.role === "toolResult");
				return `bash=${content[0].text.trim()}|prompt=${session.systemPrompt.startsWith("You do as you are told.")}`;
			};
			console.log(`with extensions: ${result(guarded.session)}`);
			console.log(`without: ${result(free.session)}`);
			const names = (created: any) => created.extensionsResult.extensions.map(({ path }: any) => basename(path)).join(",");
			console.log(`loaded ${names(guarded)} and ${names(free) || "none"}`);
			if ((free.session as any).autoCompactionEnabled) console.log("settings were ignored");
			guarded.session.dispose();
			free.session.dispose();
		},
	});
}
