/** What every client scenario needs from an extension: a tool that asks a person, in each of the four ways. */
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
	pi.registerCommand("greet", {
		description: "Says hello to the client",
		handler: async (args: string, ctx: any) => ctx.ui.notify(`hello ${args}`, "info"),
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
