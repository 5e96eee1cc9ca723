// What a client fails with. Each kind of failure is a class, so that callers can tell them apart with `instanceof`.

import type { AssistantMessage } from "../../types/messages.js";

/** How Pier, or the connection to it, ended. */
export interface End {
	/** Exit code; `null` after death by a signal and for connections that are no process. */
	code: number | null;
	/** Name of the signal that ended the process. */
	signal: string | null;
	/** The last part of what was written to standard error. */
	stderr: string;
}

/** Any failure of the client. */
export class PierError extends Error {
	override name = "PierError";
}

/** Pier refused a command, or the command failed. */
export class PierCommandError extends PierError {
	override name = "PierCommandError";
	readonly command: string;
	/** Id of the request; the record that Pier could not read may have had none. */
	readonly id: string | undefined;
	/** What the response says besides its text, such as `{disposition: "handled"}` for an extension command that threw. */
	readonly data: unknown;

	constructor(command: string, id: string | undefined, message: string, data?: unknown) {
		super(message);
		this.command = command;
		this.id = id;
		this.data = data;
	}
}

/** What was waited for did not come in the time that the caller set. */
export class PierTimeoutError extends PierError {
	override name = "PierTimeoutError";
	/** Milliseconds. */
	readonly timeout: number;

	constructor(what: string, timeout: number) {
		super(`${what}: nothing came within ${timeout} ms`);
		this.timeout = timeout;
	}
}

/** Pier ended, or the client was closed, before what was waited for came. */
export class PierClosedError extends PierError {
	override name = "PierClosedError";
	readonly exitCode: number | null;
	readonly signal: string | null;
	/** The last part of what was written to standard error. */
	readonly stderr: string;

	constructor(message: string, end?: End, options?: ErrorOptions) {
		super(message, options);
		this.exitCode = end?.code ?? null;
		this.signal = end?.signal ?? null;
		this.stderr = end?.stderr ?? "";
	}
}

/** The run that a prompt started ended with a failure of the model or its provider. */
export class PierRunError extends PierError {
	override name = "PierRunError";
	/** The last answer: its `errorMessage` says why, its content is what had arrived. */
	readonly answer: AssistantMessage;

	constructor(answer: AssistantMessage) {
		super(answer.errorMessage ?? "The model's answer failed");
		this.answer = answer;
	}
}

/** Anything thrown, as an error. */
export function asError(thrown: unknown): Error {
	return thrown instanceof Error ? thrown : new PierError(String(thrown));
}

/** Calls a function of the caller. What it throws, also later when it is asynchronous, is reported and goes no further. */
export function guarded(call: () => unknown, report: (error: Error) => void): void {
	const failed = (thrown: unknown) => report(asError(thrown));
	try {
		const result = call();
		if (result instanceof Promise) result.catch(failed);
	} catch (thrown) {
		failed(thrown);
	}
}
