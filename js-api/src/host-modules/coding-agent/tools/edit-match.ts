// Finds and replaces texts in a file (agent-loop §10, edit). Exact matches first; when one is missing, all edits are matched on a normalised form
// of the file, and only the lines that an edit touches take that form.

export interface Edit {
	oldText: string;
	newText: string;
}

interface Match {
	/** Position in the list of edits. */
	index: number;
	start: number;
	end: number;
	newText: string;
}

export function toLf(text: string): string {
	return text.replace(/\r\n?/g, "\n");
}

/** Form in which texts are compared when the exact characters are not found. Keeps the number of lines. */
export function normalizeForMatch(text: string): string {
	return text
		.normalize("NFKC")
		.split("\n")
		.map((line) => line.trimEnd())
		.join("\n")
		.replace(/[\u2018\u2019\u201A\u201B]/g, "'")
		.replace(/[\u201C\u201D\u201E\u201F]/g, '"')
		.replace(/[\u2010-\u2015\u2212]/g, "-")
		.replace(/[\u00A0\u2002-\u200A\u202F\u205F\u3000]/g, " ");
}

function occurrences(text: string, part: string): number {
	let count = 0;
	for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
	return count;
}

class Messages {
	private readonly path: string;
	private readonly single: boolean;

	constructor(path: string, count: number) {
		this.path = path;
		this.single = count === 1;
	}

	empty(index: number): Error {
		return new Error(`${this.single ? "oldText" : `edits[${index}].oldText`} must not be empty in ${this.path}.`);
	}

	missing(index: number): Error {
		return new Error(
			this.single
				? `Could not find the exact text in ${this.path}. The old text must match exactly including all whitespace and newlines.`
				: `Could not find edits[${index}] in ${this.path}. The oldText must match exactly including all whitespace and newlines.`,
		);
	}

	ambiguous(index: number, count: number): Error {
		return new Error(
			this.single
				? `Found ${count} occurrences of the text in ${this.path}. The text must be unique. Please provide more context to make it unique.`
				: `Found ${count} occurrences of edits[${index}] in ${this.path}. Each oldText must be unique. Please provide more context to make it unique.`,
		);
	}

	overlap(first: number, second: number): Error {
		return new Error(
			`edits[${first}] and edits[${second}] overlap in ${this.path}. Merge them into one edit, or choose texts that do not share characters.`,
		);
	}

	unchanged(): Error {
		return new Error(`No changes made to ${this.path}. The replacement gives the same content as before.`);
	}
}

/**
 * Applies all edits to text with LF line ends.
 * @returns the new text, with LF line ends
 * @throws when a text is empty, missing, ambiguous, overlaps another, or nothing changes; the message is for the model
 */
export function applyEdits(before: string, edits: readonly Edit[], path: string): string {
	const messages = new Messages(path, edits.length);
	const wanted = edits.map(({ oldText, newText }) => ({ oldText: toLf(oldText), newText: toLf(newText) }));
	for (const [index, { oldText }] of wanted.entries()) if (oldText === "") throw messages.empty(index);

	const normalized = normalizeForMatch(before);
	const fuzzy = wanted.some(({ oldText }) => !before.includes(oldText));
	const base = fuzzy ? normalized : before;
	const matches: Match[] = wanted.map(({ oldText, newText }, index) => {
		const comparable = normalizeForMatch(oldText);
		// In the normalised text an exactly written text is preferred, too: it may hold blanks that normalising would drop.
		const needle = base.includes(oldText) ? oldText : comparable;
		const start = needle === "" ? -1 : base.indexOf(needle);
		if (start < 0) throw messages.missing(index);
		const count = comparable === "" ? occurrences(base, needle) : occurrences(normalized, comparable);
		if (count > 1) throw messages.ambiguous(index, count);
		return { index, start, end: start + needle.length, newText };
	});
	matches.sort((a, b) => a.start - b.start);
	for (const [position, match] of matches.entries()) {
		const next = matches[position + 1];
		if (next !== undefined && match.end > next.start) throw messages.overlap(match.index, next.index);
	}

	const after = fuzzy ? replaceTouchedLines(before, base, matches) : replaceRanges(base, matches);
	if (after === before) throw messages.unchanged();
	return after;
}

function replaceRanges(text: string, matches: readonly Match[]): string {
	let result = "";
	let from = 0;
	for (const { start, end, newText } of matches) {
		result += text.slice(from, start) + newText;
		from = end;
	}
	return result + text.slice(from);
}

/** Replaces in the normalised text, and takes every line that no match touches from the original. Both have the same number of lines. */
function replaceTouchedLines(original: string, normalized: string, matches: readonly Match[]): string {
	const originalLines = original.split("\n");
	const lines = normalized.split("\n");
	const starts: number[] = [];
	let offset = 0;
	for (const line of lines) {
		starts.push(offset);
		offset += line.length + 1;
	}
	const lineAt = (position: number): number => {
		let low = 0;
		let high = starts.length - 1;
		while (low < high) {
			const middle = Math.ceil((low + high) / 2);
			if ((starts[middle] ?? 0) <= position) low = middle;
			else high = middle - 1;
		}
		return low;
	};
	const output: string[] = [];
	let nextLine = 0;
	let position = 0;
	while (position < matches.length) {
		// Matches that share a line form one group.
		const first = lineAt(matches[position]?.start ?? 0);
		let last = first;
		const group: Match[] = [];
		for (let match = matches[position]; match !== undefined; match = matches[++position]) {
			if (group.length > 0 && lineAt(match.start) > last) break;
			group.push(match);
			last = Math.max(last, lineAt(match.end));
		}
		output.push(...originalLines.slice(nextLine, first));
		const base = starts[first] ?? 0;
		const lastStart = starts[last] ?? 0;
		const end = group.at(-1)?.end ?? base;
		const shifted = group.map((match) => ({ ...match, start: match.start - base, end: match.end - base }));
		// A match that ends with a line feed joins its text with the next line, of which it touches nothing.
		if (end === lastStart && last > first) {
			output.push(replaceRanges(normalized.slice(base, end), shifted) + (originalLines[last] ?? ""));
		} else {
			output.push(replaceRanges(normalized.slice(base, lastStart + (lines[last]?.length ?? 0)), shifted));
		}
		nextLine = last + 1;
	}
	output.push(...originalLines.slice(nextLine));
	return output.join("\n");
}
