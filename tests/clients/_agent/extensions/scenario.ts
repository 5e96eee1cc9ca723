/** What client scenarios need from an extension: a tool that asks a person in each of the four ways, and commands. */
import { Type } from "typebox";

export default function (pi: any) {
	pi.registerTool({
		name: "ask",
		label: "Ask",
		description: "Asks the person at the client",
		parameters: Type.Object({ kind: Type.String() }),
		async execute(_id: string, { kind }: { kind: string }, _signal: AbortSignal, _update: unknown, ctx: any) {
			const answer = await open(kind, ctx.ui);
			return { content: [{ type: "text", text: `${kind} gave ${JSON.stringify(answer ?? null)}` }], details: { kind } };
		},
	});
	pi.registerTool({
		name: "nest",
		label: "Nest",
		description: "Has another tool do the work",
		parameters: Type.Object({}),
		async execute(_id: string, _args: object, _signal: AbortSignal, _update: unknown, ctx: any) {
			const { result } = await ctx.executeTool("bash", { command: "printf nested" });
			return { content: result.content, details: {} };
		},
	});
	pi.registerCommand("greet", {
		description: "Says hello to the client",
		handler: async (args: string, ctx: any) => ctx.ui.notify(`hello ${args}`, "info"),
	});
	pi.registerCommand("pick", {
		description: "Shows a list in a component of its own",
		handler: async (_args: string, ctx: any) => {
			const picked = await ctx.ui.custom((tui: any, _theme: any, _keys: any, done: (value: string) => void) => list(tui, done));
			ctx.ui.notify(`picked ${picked ?? "nothing"}`, "info");
		},
	});
	pi.registerCommand("dress", {
		description: "Uses every part of the screen",
		handler: async (_args: string, ctx: any) => {
			const shown = (text: string) => () => ({ render: () => [text], invalidate() {} });
			pi.appendEntry("scenario", { dressed: true });
			ctx.ui.setStatus("scenario", "dressed");
			ctx.ui.setWidget("scenario", ["a widget"], { placement: "belowEditor" });
			ctx.ui.setTitle("a title");
			ctx.ui.setEditorText("a text");
			ctx.ui.setHeader(shown("a header"));
			ctx.ui.setFooter(shown("a footer"));
		},
	});
	pi.registerCommand("chat", { handler: async (args: string) => pi.sendUserMessage(args) });
	pi.registerCommand("fail", {
		handler: async () => {
			throw new Error("on purpose");
		},
	});
}

function open(kind: string, ui: any): Promise<unknown> {
	switch (kind) {
		case "select":
			return ui.select("Which way?", ["left", "right"]);
		case "confirm":
			return ui.confirm("Go on?", "There is no way back");
		case "input":
			return ui.input("Your name?", "a name");
		case "editor":
			return ui.editor("Your text", "first line\nsecond line");
		default:
			throw new Error(`no dialog of the kind ${kind}`);
	}
}

/** Two lines, a cursor in front of one; arrows move it, Enter takes it. */
function list(tui: any, done: (value: string) => void) {
	const items = ["one", "two"];
	let at = 0;
	return {
		render: () => items.map((item, index) => `${index === at ? ">" : " "} ${item}`),
		handleInput(data: string) {
			if (data === "\r") return done(items[at] as string);
			if (data === "\u001b[B") at = 1;
			tui.requestRender();
		},
		invalidate() {},
	};
}
