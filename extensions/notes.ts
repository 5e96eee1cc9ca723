/**
 * Notes that live in the session: they survive a restart and follow the branch that you are on.
 *
 * State is not kept in a file. Each change is an entry of the session, and the list is rebuilt from the
 * entries of the current branch when a session starts or the branch changes.
 */
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
	let notes: string[] = [];

	const rebuild = (ctx: ExtensionContext) => {
		notes = [];
		for (const entry of ctx.sessionManager.getBranch()) {
			if (entry.type === "custom" && entry.customType === "note") notes.push(String(entry.data));
		}
	};
	pi.on("session_start", async (_event, ctx) => rebuild(ctx));
	pi.on("session_tree", async (_event, ctx) => rebuild(ctx));

	pi.registerTool({
		name: "note",
		label: "Note",
		description: "Remembers a note and lists all of them",
		parameters: Type.Object({ text: Type.Optional(Type.String({ description: "The note to add" })) }),
		async execute(_id, { text }) {
			if (text) {
				pi.appendEntry("note", text);
				notes.push(text);
			}
			return { content: [{ type: "text", text: notes.join("; ") || "no notes" }], details: { count: notes.length } };
		},
	});
}
