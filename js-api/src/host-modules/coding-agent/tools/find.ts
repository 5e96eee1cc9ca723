// Logic of the `find` tool over replaceable operations (agent-loop §10). The search itself is the operations' business.

import { isAbsolute, relative, sep } from "node:path";
import { listing } from "./ls.ts";
import { resolveToolPath } from "./paths.ts";
import {
	type FindOperations,
	type FindToolDetails,
	textResult,
	throwIfAborted,
	type ToolResult,
	type ToolRun,
} from "./types.ts";

export interface FindParams {
	pattern: string;
	path?: string;
	limit?: number;
}

const DEFAULT_LIMIT = 1000;
/** What a search leaves out even where no ignore file says so. */
const IGNORED = ["**/node_modules/**", "**/.git/**"];

/** Path relative to the search root, with slashes; a final slash (a directory) stays. */
export function relativizeFindResultPath(result: string, root: string): string {
	const isDirectory = result.endsWith("/") || result.endsWith(sep);
	const inside = isAbsolute(result) ? relative(root, result) : result;
	const slashes = inside.replaceAll("\\", "/").replace(/\/+$/, "");
	return isDirectory ? `${slashes}/` : slashes;
}

export async function runFind(
	cwd: string,
	operations: FindOperations,
	{ params, signal }: ToolRun<FindParams, FindToolDetails>,
): Promise<ToolResult<FindToolDetails>> {
	throwIfAborted(signal);
	const root = resolveToolPath(params.path || ".", cwd);
	const limit = Math.max(1, params.limit ?? DEFAULT_LIMIT);
	if (!(await operations.exists(root))) throw new Error(`Path not found: ${root}`);
	throwIfAborted(signal);
	// One more than wanted tells whether there are more.
	const found = await operations.glob(params.pattern, root, { ignore: [...IGNORED], limit: limit + 1 });
	throwIfAborted(signal);
	if (found.length === 0) return textResult("No files found matching pattern");
	const shown = found.slice(0, limit).map((path) => relativizeFindResultPath(path, root));
	return listing<FindToolDetails>(shown, found.length > limit, `${limit} results limit reached`, {
		resultLimitReached: limit,
	});
}
