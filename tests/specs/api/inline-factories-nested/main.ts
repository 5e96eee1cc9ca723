import { createAgentSession, type ExtensionAPI, SessionManager } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }], details: {} });
const tool = (name: string, execute: (ctx: any) => Promise<string>) => ({
	name,
	label: name,
	description: `The tool ${name}`,
	parameters: Type.Object({}),
	execute: async (_id: string, _params: unknown, _signal: unknown, _onUpdate: unknown, ctx: any) =>
		text(await execute(ctx)),
});

/** The answer of a session that has `factory` as its extension. */
async function ask(cwd: string, factory: (pi: ExtensionAPI) => void, prompt: string): Promise<string> {
	const { session } = await createAgentSession({
		sessionManager: SessionManager.inMemory(cwd),
		extensions: [factory],
	} as any);
	await session.prompt(prompt);
	const answer = session.getLastAssistantText() ?? "";
	await session.dispose();
	return answer;
}

export default function (pi: ExtensionAPI) {
	pi.registerTool(
		tool("outer", async (outer) => {
			const ids = new Set<string>([outer.sessionManager.getSessionId()]);
			const middle = (inner: ExtensionAPI) => {
				inner.registerTool(
					tool("middle", async (ctx) => {
						ids.add(ctx.sessionManager.getSessionId());
						const deepest = (deep: ExtensionAPI) => {
							deep.registerTool(
								tool("deep", async (deepCtx) => {
									ids.add(deepCtx.sessionManager.getSessionId());
									return "DEEP";
								}),
							);
						};
						console.log(`inner says: ${await ask(ctx.cwd, deepest, "go\n@tool deep {}")}`);
						return "ok";
					}),
				);
			};
			await ask(outer.cwd, middle, "go\n@tool middle {}");
			console.log(`depths differ: ${ids.size === 3}`);
			const read = 'go\n@tool read {"path":"note.txt"}';
			const guard = (inner: ExtensionAPI) => {
				inner.on("tool_call", () => {
					throw new Error("not today");
				});
				inner.on("message_end", () => {
					throw new Error("broken listener");
				});
			};
			console.log(`refused: ${await ask(outer.cwd, guard, read)}`);
			const hanging = (inner: ExtensionAPI) => {
				inner.on("tool_call", () => new Promise<never>(() => {}));
			};
			console.log(`hung: ${await ask(outer.cwd, hanging, read)}`);
			console.log(`the isolate lives: ${pi.getActiveTools().includes("outer")}`);
			return "done";
		}) as any,
	);
}
