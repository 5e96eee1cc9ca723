// How the built-in tools draw their call and their result in a transcript.

import { homedir } from "node:os";
import { type Component, Text } from "@earendil-works/pi-tui";
import type { Theme } from "../../../api/theme.ts";
import { renderDiff } from "../components/diff.ts";
import { highlightCode } from "../highlight.ts";
import { keyHint } from "../keybindings.ts";
import { languageOfExtension } from "../languages.ts";
import type { ToolResult } from "./types.ts";

/** Lines shown while a result is folded. */
const FOLDED_LINES = 10;

type Args = Record<string, unknown>;

interface Options {
	expanded?: boolean;
	isPartial?: boolean;
}

/** Path with the home directory as `~`. */
export function shortenPath(path: unknown): string {
	if (typeof path !== "string") return "";
	const home = homedir();
	return home !== "" && (path === home || path.startsWith(`${home}/`)) ? `~${path.slice(home.length)}` : path;
}

/** `:3-7` for the lines that a read call asks for; empty for malformed values. */
export function formatReadLineRange(offset: unknown, limit: unknown): string {
	const number = (value: unknown): number | undefined => {
		if (value === undefined || value === null || value === "") return undefined;
		const parsed = typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
		return parsed;
	};
	const from = number(offset);
	const count = number(limit);
	if ((from === undefined && count === undefined) || Number.isNaN(from) || Number.isNaN(count)) return "";
	const first = from ?? 1;
	return count === undefined ? `:${first}` : `:${first}-${first + count - 1}`;
}

function summary(name: string, args: Args, theme: Theme): string {
	const path = theme.fg("accent", shortenPath(args.path ?? args.file_path) || "...");
	const quiet = (text: string) => theme.fg("toolOutput", text);
	switch (name) {
		case "read":
			return path + theme.fg("warning", formatReadLineRange(args.offset, args.limit));
		case "write":
		case "edit":
			return path;
		case "bash":
			return theme.bold(String(args.command ?? "...")) + (args.timeout ? quiet(` (timeout ${args.timeout}s)`) : "");
		case "grep":
			return `${theme.fg("accent", `/${args.pattern ?? ""}/`)}${quiet(` in ${shortenPath(args.path ?? ".")}`)}`;
		case "find":
			return `${theme.fg("accent", String(args.pattern ?? ""))}${quiet(` in ${shortenPath(args.path ?? ".")}`)}`;
		default:
			return theme.fg("accent", shortenPath(args.path ?? "."));
	}
}

export function renderToolCall(name: string, args: Args | undefined, theme: Theme): Component {
	const title = name === "bash" ? "$" : name;
	return new Text(`${theme.fg("toolTitle", theme.bold(title))} ${summary(name, args ?? {}, theme)}`, 0, 0);
}

function body(name: string, result: ToolResult, args: Args, theme: Theme): string[] {
	if (name === "edit" && !result.isError) {
		const diff = (result.details as { diff?: unknown } | undefined)?.diff;
		if (typeof diff === "string") return renderDiff(diff).split("\n");
	}
	const text = result.content
		.map((block) => (block.type === "text" ? block.text : `[image ${block.mimeType}]`))
		.join("\n");
	if (result.isError) return text.split("\n").map((line) => theme.fg("error", line));
	const language = name === "read" && typeof args.path === "string" ? languageOfExtension(args.path) : undefined;
	const lines = language === undefined ? text.split("\n") : highlightCode(text, language);
	return language === undefined ? lines.map((line) => theme.fg("toolOutput", line.replaceAll("\t", "   "))) : lines;
}

/** Folded results show their first lines, those of commands their last ones. */
export function renderToolResult(
	name: string,
	result: ToolResult,
	options: Options,
	theme: Theme,
	args: Args = {},
): Component {
	const lines = body(name, result, args, theme);
	while (lines.at(-1)?.trim() === "") lines.pop();
	if (options.expanded || lines.length <= FOLDED_LINES)
		return new Text(lines.length > 0 ? `\n${lines.join("\n")}` : "", 0, 0);
	const hidden = lines.length - FOLDED_LINES;
	const hint = `${theme.fg("muted", `... (${hidden} ${name === "bash" ? "earlier" : "more"} lines,`)} ${keyHint("app.tools.expand", "to expand")}${theme.fg("muted", ")")}`;
	const shown = name === "bash" ? [hint, ...lines.slice(-FOLDED_LINES)] : [...lines.slice(0, FOLDED_LINES), hint];
	return new Text(`\n${shown.join("\n")}`, 0, 0);
}
