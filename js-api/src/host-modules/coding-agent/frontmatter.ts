// YAML front matter of Markdown files (skills, prompts, agents).

import { parse } from "yaml";

export interface ParsedFrontmatter<T extends Record<string, unknown> = Record<string, unknown>> {
	frontmatter: T;
	body: string;
}

interface Split {
	yaml: string | undefined;
	body: string;
}

function split(text: string): Split {
	const normalized = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
	if (!normalized.startsWith("---")) return { yaml: undefined, body: normalized };
	const end = normalized.indexOf("\n---", 3);
	if (end < 0) return { yaml: undefined, body: normalized };
	return { yaml: normalized.slice(4, end), body: normalized.slice(end + "\n---".length).trim() };
}

/**
 * Front matter and the text below it. Without front matter the first is `{}` and the second the whole text.
 * @throws when the YAML is malformed
 */
export function parseFrontmatter<T extends Record<string, unknown> = Record<string, unknown>>(
	text: string,
): ParsedFrontmatter<T> {
	const { yaml, body } = split(text);
	if (yaml === undefined) return { frontmatter: {} as T, body };
	const parsed: unknown = parse(yaml);
	const isMap = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
	return { frontmatter: (isMap ? parsed : {}) as T, body };
}

/** The text below the front matter. */
export function stripFrontmatter(text: string): string {
	return split(text).body;
}
