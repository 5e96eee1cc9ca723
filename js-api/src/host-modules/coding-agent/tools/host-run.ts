// Runs a built-in tool on the host: what `createReadTool(cwd)` does when no operations are given.

import { hostCall, hostCallAsync } from "../../../host.ts";
import { currentRuntime } from "../../../api/runtime.ts";
import type { ToolResult, ToolRun } from "./types.ts";

declare module "../../../api/protocol-methods.ts" {
	interface SyncMethods {
		"runBuiltinTool.cancel": { args: { builtinId: number }; result: undefined };
	}
}

let nextId = 1;

/** `options` is the JSON part of the tool's options. Cancelling the signal cancels the tool on the host. */
export async function runOnHost<Params, Details>(
	name: string,
	cwd: string,
	options: object,
	{ params, signal, onUpdate }: ToolRun<Params, Details>,
): Promise<ToolResult<Details>> {
	if (signal?.aborted) throw new Error("Operation aborted");
	const builtinId = nextId++;
	const { callbacks } = currentRuntime();
	const update = onUpdate && callbacks.add(([partial]) => onUpdate(partial as ToolResult<Details>));
	const cancel = () => hostCall("runBuiltinTool.cancel", { builtinId });
	signal?.addEventListener("abort", cancel, { once: true });
	try {
		const request = {
			name,
			args: params,
			cwd,
			options,
			builtinId,
			...(update === undefined ? {} : { onUpdate: update }),
		};
		return (await hostCallAsync("runBuiltinTool", request)) as ToolResult<Details>;
	} finally {
		signal?.removeEventListener("abort", cancel);
		callbacks.release([update]);
	}
}
