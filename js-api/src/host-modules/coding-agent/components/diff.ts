// Colours for the edit tool's numbered diff.

import { diffWords } from "diff";
import { currentTheme } from "../../../api/theme.ts";

interface Line {
	sign: string;
	number: string;
	text: string;
}

function parse(line: string): Line | undefined {
	const match = /^([+\- ])(\s*\d*)\s(.*)$/s.exec(line);
	if (match === null) return undefined;
	const [, sign = " ", number = "", text = ""] = match;
	return { sign, number, text: text.replaceAll("\t", "   ") };
}

/** Marks the words that differ; only for a single line that replaced a single line. */
function emphasise(before: string, after: string): { before: string; after: string } {
	const theme = currentTheme();
	const result = { before: "", after: "" };
	for (const part of diffWords(before, after)) {
		if (!part.added) result.before += part.removed ? theme.inverse(part.value) : part.value;
		if (!part.removed) result.after += part.added ? theme.inverse(part.value) : part.value;
	}
	return result;
}

/** One string of coloured lines. Lines that are not of the diff's form are shown as context. */
export function renderDiff(diff: string): string {
	const theme = currentTheme();
	const lines = diff.split("\n");
	const parsed = lines.map(parse);
	const output: string[] = [];
	const draw = (token: string, line: Line, text = line.text) => {
		output.push(theme.fg(token, `${line.sign}${line.number} ${text}`));
	};
	let index = 0;
	while (index < parsed.length) {
		const line = parsed[index];
		if (line?.sign !== "-" && line?.sign !== "+") {
			output.push(theme.fg("toolDiffContext", (lines[index] ?? "").replaceAll("\t", "   ")));
			index++;
			continue;
		}
		const removed: Line[] = [];
		for (let next = parsed[index]; next?.sign === "-"; next = parsed[++index]) removed.push(next);
		const added: Line[] = [];
		for (let next = parsed[index]; next?.sign === "+"; next = parsed[++index]) added.push(next);
		const [before] = removed;
		const [after] = added;
		if (removed.length === 1 && added.length === 1 && before !== undefined && after !== undefined) {
			const marked = emphasise(before.text, after.text);
			draw("toolDiffRemoved", before, marked.before);
			draw("toolDiffAdded", after, marked.after);
		} else {
			for (const entry of removed) draw("toolDiffRemoved", entry);
			for (const entry of added) draw("toolDiffAdded", entry);
		}
	}
	return output.join("\n");
}
