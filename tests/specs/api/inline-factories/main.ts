import {
	createAgentSession,
	DefaultResourceLoader,
	type ExtensionAPI,
	type ExtensionContext,
	SessionManager,
} from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

const shared = { runs: 0, failures: 0 };
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }], details: {} });

function customs(entries: any[]): string {
	return entries
		.filter((entry) => entry.type === "custom")
		.map((entry) => `${entry.customType}:${entry.data}`)
		.join();
}

export default function (pi: ExtensionAPI) {
	// Handlers of this extension hear nothing of the started session.
	let busy = false;
	pi.on("tool_call", (event) => {
		if (event.toolName === "shout") console.log("outer saw a call of the inner session");
	});
	pi.on("session_start", () => {
		if (busy) console.log("outer saw the start of the inner session");
	});

	pi.registerTool({
		name: "delegate",
		label: "Delegate",
		description: "Gives a task to another session",
		parameters: Type.Object({}),
		async execute(_id, _params, _signal, _onUpdate, outer) {
			busy = true;
			let innerPi: ExtensionAPI | undefined;
			let innerCtx: ExtensionContext | undefined;
			let inSession = "";
			const worker = (inner: ExtensionAPI) => {
				shared.runs += 1;
				innerPi = inner;
				inner.registerTool({
					name: "shout",
					label: "Shout",
					description: "Says it louder",
					parameters: Type.Object({ text: Type.String() }),
					async execute(_id, { text: given }, _signal, _onUpdate, ctx) {
						await new Promise((resolve) => setTimeout(resolve, 1));
						inSession = ctx.sessionManager.getSessionId();
						return text(`${given.toUpperCase()}!`);
					},
				});
				inner.on("session_start", (_event, ctx) => {
					innerCtx = ctx;
					const child = ctx.sessionManager.getSessionId() !== outer.sessionManager.getSessionId();
					console.log(`start in child: ${child}, same cwd: ${ctx.cwd === outer.cwd}, ui ${ctx.hasUI}`);
				});
				inner.on("session_shutdown", () => console.log("shutdown in child"));
				inner.registerCommand("add", {
					handler: async (args) => {
						console.log(`command in child: ${args} + 1`);
						inner.appendEntry("inline", "from the command");
						// The object of the session around it acts on that session.
						pi.appendEntry("outer", "from inside");
						setTimeout(() => pi.appendEntry("outer", "late"), 0);
						await new Promise((resolve) => setTimeout(resolve, 20));
					},
				});
			};
			const guard = {
				name: "guard",
				factory: async (inner: ExtensionAPI) => {
					await Promise.resolve();
					console.log(`factories share this isolate: ${shared.runs > 0}`);
					inner.registerFlag("loud", { type: "boolean", default: true });
					if (inner.getFlag("loud") === true) console.log("flags fine");
					inner.on("tool_call", (event) => console.log(`call seen: ${event.toolName} ${JSON.stringify(event.input)}`));
					inner.on("tool_result", (event) =>
						event.toolName === "read" ? { content: [{ type: "text" as const, text: "a note" }] } : undefined,
					);
					inner.on("context", (event) => console.log(`context seen: ${event.messages.length} messages`));
					inner.on("before_agent_start", (event) => ({ systemPrompt: `${event.systemPrompt}\nInline rule.` }));
				},
			};
			const loader = new DefaultResourceLoader({
				noExtensions: true,
				extensionFactories: [
					worker,
					guard,
					() => {
						// Once: a reload with an extension that fails would fail as well.
						if (shared.failures++ === 0) throw new Error("no luck");
					},
				],
			} as any);
			const { session, extensionsResult } = await createAgentSession({
				sessionManager: SessionManager.inMemory(outer.cwd),
				resourceLoader: loader as any,
				tools: ["read", "shout"],
			});
			const { extensions, errors } = extensionsResult;
			console.log(
				`loaded ${extensions.map(({ path }) => path)}; failed ${errors.map(({ path, error }) => `${path}: ${error}`)}`,
			);
			await session.bindExtensions({});
			console.log(`tools ${session.getActiveToolNames()}`);
			let prompt = "";
			const stop = session.subscribe((event: any) => {
				if (event.type === "agent_start") prompt = session.systemPrompt;
			});
			await session.prompt('go\n@tool shout {"text":"hey"}\n@tool read {"path":"note.txt"}');
			stop();
			console.log(`answer ${session.getLastAssistantText()}`);
			console.log(`prompt has the rule: ${prompt.includes("Inline rule.")}`);
			await session.prompt("/add 41");
			innerPi?.appendEntry("inline", "from outside");
			console.log(`child entries: ${customs(session.sessionManager.getEntries())}`);
			console.log(`outer entries: ${customs(outer.sessionManager.getEntries())}`);
			const kept = innerCtx?.sessionManager.getSessionId() === session.sessionId && inSession === session.sessionId;
			console.log(`kept ctx: child ${kept}, outer pi: delegate active ${pi.getActiveTools().includes("delegate")}`);
			const before = shared.runs;
			await session.reload();
			console.log(`runs before and after reload: ${before} ${shared.runs}`);
			await session.prompt('go\n@tool shout {"text":"again"}');
			console.log(`after reload: ${session.getLastAssistantText()}`);
			await session.dispose();
			try {
				innerPi?.appendEntry("inline", "too late");
			} catch (error) {
				console.log(`disposed: ${(error as Error).message}`);
			}
			try {
				new DefaultResourceLoader({ extensionFactories: ["no"] } as any);
			} catch (error) {
				console.log(`refused: ${(error as Error).message}`);
			}
			return text("done");
		},
	});
}
