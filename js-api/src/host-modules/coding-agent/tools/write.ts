// Logic of the `write` tool over replaceable operations (agent-loop §10).

import { dirname } from "node:path";
import { withFileMutationQueue } from "../mutation-queue.ts";
import { resolveToolPath } from "./paths.ts";
import { textResult, throwIfAborted, type ToolResult, type ToolRun, type WriteOperations } from "./types.ts";

export interface WriteParams {
	path: string;
	content: string;
}

export async function runWrite(
	cwd: string,
	operations: WriteOperations,
	{ params, signal }: ToolRun<WriteParams, undefined>,
): Promise<ToolResult<undefined>> {
	const path = resolveToolPath(params.path, cwd);
	return withFileMutationQueue(path, async () => {
		throwIfAborted(signal);
		await operations.mkdir(dirname(path));
		throwIfAborted(signal);
		await operations.writeFile(path, params.content);
		throwIfAborted(signal);
		return textResult(`Successfully wrote to ${params.path}`);
	});
}
