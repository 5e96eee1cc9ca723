// Text helpers whose arguments differ between the editions of the library, and the small ones that only one edition has.

import { truncateToWidth as truncateWithString, visibleWidth } from "@earendil-works/pi-tui";

/** xcsh: how a cut is marked. */
export const Ellipsis = Object.freeze({ Unicode: 0, Ascii: 1, Omit: 2 } as const);
export type Ellipsis = (typeof Ellipsis)[keyof typeof Ellipsis];

const MARKS: readonly string[] = ["…", "...", ""];

/**
 * Cuts `text` to `maxWidth` columns. `ellipsis` is pi's string, xcsh's `Ellipsis` number, or `null` for xcsh's default.
 * `pad` fills up to exactly `maxWidth`.
 */
export function truncateToWidth(
	text: string,
	maxWidth: number,
	ellipsis?: string | Ellipsis | null,
	pad?: boolean,
): string {
	if (typeof ellipsis === "number") return truncateWithString(text, maxWidth, MARKS[ellipsis] ?? "…", pad ?? false);
	if (ellipsis === null) return truncateWithString(text, maxWidth, "…", pad ?? false);
	return truncateWithString(text, maxWidth, ellipsis, pad ?? false);
}

/** `count` spaces; none for zero and below. */
export function padding(count: number): string {
	return count > 0 ? " ".repeat(Math.floor(count)) : "";
}

/** Replaces tabs by spaces up to the next multiple of `tabWidth` columns, counting from the line's start. */
export function replaceTabs(text: string, tabWidth = 3): string {
	if (!text.includes("\t")) return text;
	return text
		.split("\n")
		.map((line) => {
			const [first = "", ...rest] = line.split("\t");
			return rest.reduce((done, part) => done + padding(tabWidth - (visibleWidth(done) % tabWidth)) + part, first);
		})
		.join("\n");
}
