// `user_bash` handlers may return an executor of their own (§5.8). It stays here; the host calls it by handle.

import { hostCallAsync } from "../host.ts";
import type { CallScope } from "./calls.ts";
import { isObjectLike, isRecord } from "./json.ts";
import type { Runtime } from "./runtime.ts";

interface BashOperations {
	exec(
		command: string,
		cwd: string,
		options: {
			onData: (data: unknown) => void;
			signal: AbortSignal;
			timeout?: number;
			env?: Record<string, string>;
		},
	): unknown;
}

interface BashRequest {
	command: string;
	cwd: string;
	timeout?: number;
	env?: Record<string, string>;
}

const INVALID = "Invalid user_bash handler result: operations must have an exec function";

/** Keeps `operations` for the host and answers its handle. */
export function registerBashOperations(runtime: Runtime, operations: unknown): number {
	if (!isObjectLike(operations) || typeof (operations as BashOperations).exec !== "function")
		throw new TypeError(INVALID);
	return runtime.callbacks.add(([request, scope]) =>
		execute(operations as BashOperations, request as BashRequest, scope as CallScope),
	);
}

/** Handles `bashExec`. */
export function runBashExec(
	runtime: Runtime,
	header: { handle: number; callId: number },
	payload: string | undefined,
): unknown {
	const callback = runtime.callbacks.get(header.handle);
	if (callback === undefined) throw new Error(`bashExec: unknown handle ${header.handle}`);
	const request: unknown = payload === undefined ? {} : JSON.parse(payload);
	return runtime.calls.run(header.callId, (scope) => callback([request, scope], header.callId));
}

/** Passes text to the host, one piece at a time: what comes while the host is busy waits here and goes together. */
class Output {
	readonly #callId: number;
	#waiting = "";
	#sending: Promise<void> | undefined;

	constructor(callId: number) {
		this.#callId = callId;
	}

	push(text: string): void {
		this.#waiting += text;
		if (this.#waiting !== "") this.#sending ??= this.#send();
	}

	/** Resolves when the host has everything. */
	async drained(): Promise<void> {
		await this.#sending;
	}

	async #send(): Promise<void> {
		try {
			while (this.#waiting !== "") {
				const data = this.#waiting;
				this.#waiting = "";
				await hostCallAsync("bash.data", { callId: this.#callId, data });
			}
		} catch {
			// The call is over, so nobody wants its output any more.
			this.#waiting = "";
		} finally {
			this.#sending = undefined;
		}
	}
}

async function execute(
	operations: BashOperations,
	request: BashRequest,
	scope: CallScope,
): Promise<{ exitCode: number | null }> {
	// One decoder for the whole output: a character may be split over two chunks.
	const decoder = new TextDecoder();
	const output = new Output(scope.callId);
	const outcome = await operations.exec(request.command, request.cwd, {
		onData: (data) => output.push(data instanceof Uint8Array ? decoder.decode(data, { stream: true }) : String(data)),
		signal: scope.signal,
		...(request.timeout === undefined ? {} : { timeout: request.timeout }),
		...(request.env === undefined ? {} : { env: request.env }),
	});
	output.push(decoder.decode());
	await output.drained();
	const exitCode = isRecord(outcome) ? outcome.exitCode : undefined;
	return { exitCode: typeof exitCode === "number" ? exitCode : null };
}
