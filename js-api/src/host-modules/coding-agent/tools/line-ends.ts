// Byte order mark and line ends of a file, taken off before editing and put back after.

import { diffArrays } from "diff";

export interface TextFile {
	bom: string;
	/** Text with LF line ends. */
	text: string;
	/** Line end of each line that has one, in order. */
	ends: string[];
}

export function openText(raw: string): TextFile {
	const bom = raw.startsWith("\uFEFF") ? "\uFEFF" : "";
	const body = raw.slice(bom.length);
	const ends = [...body.matchAll(/\r\n|\r|\n/g)].map(([end]) => end);
	return { bom, text: body.replace(/\r\n?/g, "\n"), ends };
}

/** The file's text after an edit: lines that were kept have their own line end, new lines that of the line they replaced or the first one's. */
export function closeText(file: TextFile, text: string): string {
	const usual = file.ends[0] ?? "\n";
	if (file.ends.every((end) => end === usual)) return file.bom + text.replaceAll("\n", usual);
	const ends: string[] = [];
	let old = 0;
	let removed: string[] = [];
	for (const part of diffArrays(file.text.split("\n"), text.split("\n"))) {
		const count = part.value.length;
		if (part.removed) {
			removed = file.ends.slice(old, old + count);
			old += count;
		} else if (part.added) {
			for (let index = 0; index < count; index++) ends.push(removed[index] ?? removed.at(-1) ?? usual);
			removed = [];
		} else {
			ends.push(...file.ends.slice(old, old + count));
			old += count;
			removed = [];
		}
	}
	const lines = text.split("\n");
	return (
		file.bom + lines.map((line, index) => (index === lines.length - 1 ? line : line + (ends[index] ?? usual))).join("")
	);
}
