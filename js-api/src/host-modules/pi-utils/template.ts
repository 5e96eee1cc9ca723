// A template tag for texts that are indented in the source.

/** Joins a template and takes off the indentation that all its lines share, and the empty first and last line. */
export function t(strings: TemplateStringsArray, ...values: readonly unknown[]): string {
	const text = strings.reduce((done, part, index) => done + (index > 0 ? String(values[index - 1]) : "") + part, "");
	const lines = text
		.replace(/^\n/, "")
		.replace(/\n[ \t]*$/, "")
		.split("\n");
	const indents = lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length);
	const shared = indents.length === 0 ? 0 : Math.min(...indents);
	return lines.map((line) => line.slice(shared)).join("\n");
}
