// The two forms in which the edit tool reports a change: numbered lines for display, and a unified diff (agent-loop §10).

import { createTwoFilesPatch, diffLines, FILE_HEADERS_ONLY } from "diff";

const CONTEXT = 4;

function linesOf(value: string): string[] {
	const lines = value.split("\n");
	if (lines.at(-1) === "") lines.pop();
	return lines;
}

/** Numbered display lines: `+NN new`, `-NN old`, ` NN kept`, and ` ...` for what is left out between. */
export function generateDiffString(
	before: string,
	after: string,
	contextLines: number = CONTEXT,
): { diff: string; firstChangedLine: number | undefined } {
	const parts = diffLines(before, after);
	const width = String(Math.max(before.split("\n").length, after.split("\n").length)).length;
	const output: string[] = [];
	let oldLine = 1;
	let newLine = 1;
	let firstChangedLine: number | undefined;
	const row = (sign: string, number: number | undefined, text: string) => {
		const shown = number === undefined ? "" : String(number);
		output.push(`${sign}${shown.padStart(width)} ${text}`);
	};
	for (const [index, part] of parts.entries()) {
		const lines = linesOf(part.value);
		if (part.added || part.removed) {
			firstChangedLine ??= newLine;
			for (const line of lines) {
				if (part.added) row("+", newLine++, line);
				else row("-", oldLine++, line);
			}
			continue;
		}
		const head = index > 0 ? contextLines : 0;
		const tail = index < parts.length - 1 ? contextLines : 0;
		const hidden = Math.max(0, lines.length - head - tail);
		for (const [position, line] of lines.entries()) {
			if (position < head || position >= head + hidden) row(" ", oldLine, line);
			else if (position === head) row(" ", undefined, "...");
			oldLine++;
			newLine++;
		}
	}
	return { diff: output.join("\n"), firstChangedLine };
}

/** Unified diff with file headers only. */
export function generateUnifiedPatch(
	path: string,
	before: string,
	after: string,
	contextLines: number = CONTEXT,
): string {
	return createTwoFilesPatch(path, path, before, after, undefined, undefined, {
		context: contextLines,
		headerOptions: FILE_HEADERS_ONLY,
	});
}
