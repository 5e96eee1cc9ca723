// `pi.exec` (§2.3): runs a program without a shell through the host. Never rejects for exit codes, timeouts, aborts or a missing
// program; only wrong arguments and a refusing host reject.

import { hostCall, hostCallAsync } from "../host.ts";
import { describeType } from "./json.ts";
import type { ExecOutcome } from "./protocol.ts";
import type { ExtensionRecord } from "./record.ts";
import type { Runtime } from "./runtime.ts";
import { whenAborted } from "./when-aborted.ts";

export interface ExecOptions {
	signal?: AbortSignal;
	/** Milliseconds; absent or 0 means none. */
	timeout?: number;
	cwd?: string;
	/** Bytes over both streams. */
	maxBuffer?: number;
}

/** Exit code of a program that SIGTERM ended, as shells report it. */
const CODE_SIGTERM = 143;

function checkArguments(command: unknown, args: unknown, options: ExecOptions): string[] {
	if (typeof command !== "string" || command === "") throw new TypeError("exec: command must be a non-empty string");
	const list = args ?? [];
	if (!Array.isArray(list)) throw new TypeError(`exec: args must be an array of strings, got ${describeType(args)}`);
	for (const [index, arg] of list.entries()) {
		if (typeof arg !== "string") throw new TypeError(`exec: args[${index}] must be a string, got ${describeType(arg)}`);
	}
	const { timeout, maxBuffer, cwd } = options;
	if (timeout !== undefined && (typeof timeout !== "number" || !(timeout >= 0))) {
		throw new TypeError("exec: timeout must be a number of milliseconds");
	}
	if (maxBuffer !== undefined && !(Number.isSafeInteger(maxBuffer) && maxBuffer > 0)) {
		throw new RangeError("exec: maxBuffer must be a positive whole number of bytes");
	}
	if (cwd !== undefined && typeof cwd !== "string") throw new TypeError("exec: cwd must be a string");
	return list as string[];
}

export async function runExec(
	runtime: Runtime,
	record: ExtensionRecord,
	command: string,
	args?: string[],
	given?: ExecOptions,
): Promise<ExecOutcome> {
	const options = given ?? {};
	const list = checkArguments(command, args, options);
	const { signal, timeout, maxBuffer } = options;
	if (signal?.aborted) return { stdout: "", stderr: "", code: CODE_SIGTERM, killed: true };
	const execId = runtime.nextId();
	const callId = runtime.calls.current;
	const pending = hostCallAsync("exec", {
		ext: record.ext,
		execId,
		command,
		args: list,
		cwd: options.cwd ?? record.cwd,
		...(callId === undefined ? {} : { callId }),
		...(timeout ? { timeout: Math.ceil(Math.min(timeout, Number.MAX_SAFE_INTEGER)) } : {}),
		...(maxBuffer === undefined ? {} : { maxBuffer }),
	});
	if (signal === undefined || signal === null) return pending;
	const cancel = () => hostCall("exec.cancel", { execId });
	const stopWaiting = whenAborted(signal, cancel);
	try {
		return await pending;
	} finally {
		stopWaiting();
	}
}
