// Limits on tool output (sdk-exports §2.2, agent-loop §10): whole lines only, by number of lines and by UTF-8 bytes, whichever is hit first.

import { Buffer } from "node:buffer";

/** Lines a tool result keeps by default. */
export const DEFAULT_MAX_LINES = 2000;
/** UTF-8 bytes a tool result keeps by default. */
export const DEFAULT_MAX_BYTES = 50 * 1024;
/** UTF-16 units that one line of search output keeps. */
export const GREP_MAX_LINE_LENGTH = 500;

export interface TruncationOptions {
	maxLines?: number;
	maxBytes?: number;
}

export interface TruncationResult {
	content: string;
	truncated: boolean;
	/** The limit that decided; `null` when nothing was cut. */
	truncatedBy: "lines" | "bytes" | null;
	/** Lines of the whole text; a final line feed does not start another one. */
	totalLines: number;
	totalBytes: number;
	outputLines: number;
	outputBytes: number;
	/** Tail only: the first kept line lost its beginning, because it alone exceeds the byte limit. */
	lastLinePartial: boolean;
	/** Head only: nothing is kept, because the first line alone exceeds the byte limit. */
	firstLineExceedsLimit: boolean;
	maxLines: number;
	maxBytes: number;
}

function linesOf(text: string): string[] {
	if (text === "") return [];
	const lines = text.split("\n");
	if (text.endsWith("\n")) lines.pop();
	return lines;
}

interface Measured {
	lines: string[];
	base: Pick<TruncationResult, "totalLines" | "totalBytes" | "maxLines" | "maxBytes">;
	fits: boolean;
}

function measure(text: string, options: TruncationOptions): Measured {
	const maxLines = options.maxLines ?? DEFAULT_MAX_LINES;
	const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
	const lines = linesOf(text);
	const totalBytes = Buffer.byteLength(text, "utf8");
	return {
		lines,
		base: { totalLines: lines.length, totalBytes, maxLines, maxBytes },
		fits: lines.length <= maxLines && totalBytes <= maxBytes,
	};
}

function whole(text: string, { base }: Measured): TruncationResult {
	return {
		...base,
		content: text,
		truncated: false,
		truncatedBy: null,
		outputLines: base.totalLines,
		outputBytes: base.totalBytes,
		lastLinePartial: false,
		firstLineExceedsLimit: false,
	};
}

function cut(
	measured: Measured,
	kept: string[],
	truncatedBy: "lines" | "bytes",
	flags: Partial<TruncationResult> = {},
): TruncationResult {
	const content = kept.join("\n");
	return {
		...measured.base,
		content,
		truncated: true,
		truncatedBy,
		outputLines: kept.length,
		outputBytes: Buffer.byteLength(content, "utf8"),
		lastLinePartial: false,
		firstLineExceedsLimit: false,
		...flags,
	};
}

/** Keeps the beginning. Never cuts inside a line: a first line over the byte limit gives empty content and `firstLineExceedsLimit`. */
export function truncateHead(text: string, options: TruncationOptions = {}): TruncationResult {
	const measured = measure(text, options);
	if (measured.fits) return whole(text, measured);
	const { maxLines, maxBytes } = measured.base;
	const kept: string[] = [];
	let bytes = 0;
	for (const line of measured.lines) {
		if (kept.length >= maxLines) return cut(measured, kept, "lines");
		const size = Buffer.byteLength(line, "utf8") + (kept.length > 0 ? 1 : 0);
		if (bytes + size > maxBytes) return cut(measured, kept, "bytes", { firstLineExceedsLimit: kept.length === 0 });
		bytes += size;
		kept.push(line);
	}
	// Only a final line feed did not fit; pi says "lines" then, and callers compare.
	return cut(measured, kept, "lines");
}

/** Keeps the end. When the last line alone exceeds the byte limit, its end is kept, cut between characters (`lastLinePartial`). */
export function truncateTail(text: string, options: TruncationOptions = {}): TruncationResult {
	const measured = measure(text, options);
	if (measured.fits) return whole(text, measured);
	const { maxLines, maxBytes } = measured.base;
	const kept: string[] = [];
	let bytes = 0;
	for (const line of measured.lines.toReversed()) {
		if (kept.length >= maxLines) return cut(measured, kept.reverse(), "lines");
		const size = Buffer.byteLength(line, "utf8") + (kept.length > 0 ? 1 : 0);
		if (bytes + size > maxBytes) {
			if (kept.length > 0) return cut(measured, kept.reverse(), "bytes");
			return cut(measured, [tailBytes(line, maxBytes)], "bytes", { lastLinePartial: true });
		}
		bytes += size;
		kept.push(line);
	}
	return cut(measured, kept.reverse(), "lines");
}

/** The longest suffix of whole characters that has at most `maxBytes` bytes. */
function tailBytes(line: string, maxBytes: number): string {
	const bytes = Buffer.from(line, "utf8");
	let start = Math.max(0, bytes.length - Math.max(0, maxBytes));
	// A UTF-8 continuation byte is 10xxxxxx.
	while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
	return bytes.subarray(start).toString("utf8");
}

/** Cuts one line to `maxChars` UTF-16 units; the suffix marks the cut. */
export function truncateLine(
	line: string,
	maxChars: number = GREP_MAX_LINE_LENGTH,
): { text: string; wasTruncated: boolean } {
	if (line.length <= maxChars) return { text: line, wasTruncated: false };
	return { text: `${line.slice(0, maxChars)}... [truncated]`, wasTruncated: true };
}

/** `512B`, `1.5KB`, `2.0MB`. */
export function formatSize(bytes: number): string {
	if (bytes < 1024) return `${bytes}B`;
	if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
	return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}
