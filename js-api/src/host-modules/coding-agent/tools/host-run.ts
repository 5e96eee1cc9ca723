// Runs a built-in tool on the host: what `createReadTool(cwd)` and the other factories make.

import { hostCall, hostCallAsync } from "../../../host.ts";
import { insideTurns } from "../../../api/file-turns.ts";
import { currentRuntime } from "../../../api/runtime.ts";
import type { ToolResult, ToolRun } from "./types.ts";

declare module "../../../api/protocol-methods.ts" {
	interface SyncMethods {
		"runBuiltinTool.cancel": { args: { builtinId: number }; result: undefined };
	}
}

/** What of a tool's options lives here: handles of its functions, and which optional ones there are. */
export interface OwnParts {
	operations?: number;
	offers?: string[];
	shell?: number;
	spawnHook?: number;
}

let nextId = 1;

/** Runs a call of the host that the signal cancels. */
export async function cancellable<Result>(
	signal: AbortSignal | undefined,
	run: (builtinId: number) => Promise<Result>,
): Promise<Result> {
	const builtinId = nextId++;
	const cancel = () => hostCall("runBuiltinTool.cancel", { builtinId });
	signal?.addEventListener("abort", cancel, { once: true });
	try {
		return await run(builtinId);
	} finally {
		signal?.removeEventListener("abort", cancel);
	}
}

/** `options` is the JSON part of the tool's options, `own` the rest; its handles are released at the end. */
export async function runOnHost<Params, Details>(
	name: string,
	cwd: string,
	options: object,
	{ params, signal, onUpdate }: ToolRun<Params, Details>,
	own: OwnParts = {},
): Promise<ToolResult<Details>> {
	const { callbacks, calls } = currentRuntime();
	const callId = calls.current;
	const update = onUpdate && callbacks.add(([partial]) => onUpdate(partial as ToolResult<Details>));
	try {
		if (signal?.aborted) throw new Error("Operation aborted");
		const result = await cancellable(signal, (builtinId) =>
			hostCallAsync("runBuiltinTool", {
				name,
				args: params,
				cwd,
				options,
				builtinId,
				...own,
				...(callId === undefined ? {} : { callId }),
				...insideTurns(),
				...(update === undefined ? {} : { onUpdate: update }),
			}),
		);
		return result as ToolResult<Details>;
	} finally {
		callbacks.release([update, own.operations, own.shell, own.spawnHook]);
	}
}
