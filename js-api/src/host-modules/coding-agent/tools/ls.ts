// Logic of the `ls` tool over replaceable operations (agent-loop §10).

import { join } from "node:path";
import { DEFAULT_MAX_BYTES, formatSize, type TruncationResult, truncateHead } from "../truncate.ts";
import { resolveToolPath } from "./paths.ts";
import {
	type LsOperations,
	type LsToolDetails,
	textResult,
	throwIfAborted,
	type ToolResult,
	type ToolRun,
} from "./types.ts";

export interface LsParams {
	path?: string;
	limit?: number;
}

const DEFAULT_LIMIT = 500;

export async function runLs(
	cwd: string,
	operations: LsOperations,
	{ params, signal }: ToolRun<LsParams, LsToolDetails>,
): Promise<ToolResult<LsToolDetails>> {
	throwIfAborted(signal);
	const path = resolveToolPath(params.path || ".", cwd);
	const limit = Math.max(1, params.limit ?? DEFAULT_LIMIT);
	if (!(await operations.exists(path))) throw new Error(`Path not found: ${path}`);
	if (!(await operations.stat(path)).isDirectory()) throw new Error(`Not a directory: ${path}`);
	throwIfAborted(signal);
	let names: string[];
	try {
		names = [...(await operations.readdir(path))];
	} catch (error) {
		throw new Error(`Cannot read directory: ${error instanceof Error ? error.message : String(error)}`, {
			cause: error,
		});
	}
	// Keys first: comparing lower-case copies directly would lower them for every comparison.
	const ordered = names.map((name) => ({ name, key: name.toLowerCase() })).sort((a, b) => a.key.localeCompare(b.key));

	const shown: string[] = [];
	let limited = false;
	for (const { name } of ordered) {
		if (shown.length >= limit) {
			limited = true;
			break;
		}
		throwIfAborted(signal);
		try {
			const isDirectory = (await operations.stat(join(path, name))).isDirectory();
			shown.push(isDirectory ? `${name}/` : name);
		} catch {
			// Gone since it was listed, or a broken link.
		}
	}
	if (shown.length === 0) return textResult("(empty directory)");
	return listing<LsToolDetails>(shown, limited, `${limit} entries limit reached. Use limit=${limit * 2} for more`, {
		entryLimitReached: limit,
	});
}

/** Joins lines, applies the byte limit (the line limit is the tool's own), and adds the notices. */
export function listing<Details extends { truncation?: TruncationResult }>(
	lines: string[],
	limited: boolean,
	limitNotice: string,
	limitDetails: Details,
): ToolResult<Details> {
	const truncation = truncateHead(lines.join("\n"), { maxLines: Number.MAX_SAFE_INTEGER });
	const notices: string[] = [];
	if (limited) notices.push(limitNotice);
	if (truncation.truncated) notices.push(`${formatSize(DEFAULT_MAX_BYTES)} limit reached`);
	const text = notices.length > 0 ? `${truncation.content}\n\n[${notices.join(". ")}]` : truncation.content;
	const details = { ...(limited ? limitDetails : {}), ...(truncation.truncated ? { truncation } : {}) } as Details;
	return textResult(text, Object.keys(details).length > 0 ? details : undefined);
}
