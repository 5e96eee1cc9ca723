// Cuts text by the lines it takes on the screen, after wrapping.

import { Text } from "@earendil-works/pi-tui";

export interface VisualTruncateResult {
	visualLines: readonly string[];
	/** Screen lines that were left out. */
	skippedCount: number;
}

/** Keeps `maxVisualLines` screen lines of `text` drawn `width` columns wide, the last ones unless `keep` says "start". */
export function truncateToVisualLines(
	text: string,
	maxVisualLines: number,
	width: number,
	paddingX = 0,
	keep: "start" | "end" = "end",
): VisualTruncateResult {
	if (text === "") return { visualLines: [], skippedCount: 0 };
	const lines = new Text(text, paddingX, 0).render(width);
	if (lines.length <= maxVisualLines) return { visualLines: lines, skippedCount: 0 };
	const visualLines = keep === "start" ? lines.slice(0, maxVisualLines) : lines.slice(lines.length - maxVisualLines);
	return { visualLines, skippedCount: lines.length - maxVisualLines };
}
