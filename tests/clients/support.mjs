/** What the scenarios in JavaScript share: steps with names, the prompts, and reading events. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Four tool calls, each of which opens a dialog; they are open at the same time. */
export const ASK_ALL = ["select", "confirm", "input", "editor"].map((kind) => `@tool ask {"kind":"${kind}"}`).join("\n");
/** What a person answers, by the kind of dialog. */
export const ANSWERS = {
	select: { value: "right" },
	confirm: { confirmed: true },
	input: { value: "Ada" },
	editor: { value: "edited" },
};
/** An answer that takes minutes unless it is aborted. */
export const ABORTED_PROMPT = `@delay 50\n@chunk 2\n@text ${"a long answer ".repeat(200)}`;

/** Runs one part of a scenario; a failure says which part it was. Its output is for the failure report only. */
export async function step(name, run) {
	try {
		await run();
		process.stdout.write(`ok: ${name}\n`);
	} catch (error) {
		process.stdout.write(`FAILED: ${name}\n${error?.stack ?? error}\n`);
		process.exit(1);
	}
}

/** Text of the results of all finished tools, sorted: tools of one message finish in any order. */
export function texts(events) {
	return events
		.filter((event) => event.type === "tool_execution_end")
		.map((event) => event.result.content[0].text)
		.sort();
}

/** Text of the result of the one call of a tool. */
export function toolText(events, name) {
	const [end] = events.filter((event) => event.type === "tool_execution_end" && event.toolName === name);
	return end?.result.content.map((block) => block.text).join("") ?? "";
}

/** Makes an executable of that name in a directory of its own and returns the directory. */
export function standIn(name, script) {
	const directory = mkdtempSync(join(process.cwd(), "bin-"));
	writeFileSync(join(directory, name), script, { mode: 0o755 });
	return directory;
}
