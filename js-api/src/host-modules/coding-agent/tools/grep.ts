// The `grep` tool. The search always runs on the host; operations only say what the path is.

import { runOnHost } from "./host-run.ts";
import { resolveToolPath } from "./paths.ts";
import type { GrepOperations, GrepToolDetails, ToolResult, ToolRun } from "./types.ts";

export interface GrepParams {
	pattern: string;
	path?: string;
	glob?: string;
	ignoreCase?: boolean;
	literal?: boolean;
	context?: number;
	limit?: number;
}

export async function runGrep(
	cwd: string,
	operations: GrepOperations | undefined,
	run: ToolRun<GrepParams, GrepToolDetails>,
): Promise<ToolResult<GrepToolDetails>> {
	if (operations !== undefined) {
		const path = resolveToolPath(run.params.path || ".", cwd);
		try {
			await operations.isDirectory(path);
		} catch (error) {
			throw new Error(`Path not found: ${path}`, { cause: error });
		}
	}
	return runOnHost("grep", cwd, {}, run);
}
