// Calls from the host that run extension code: their ids, abort signals, and which call is running now.
// Must not know what kind of work a call does.

import { hostCall } from "../host.ts";

/** An `AbortError` with the host's reason, as the web APIs use. */
function abortReason(reason: string | undefined): unknown {
	return new DOMException(reason ?? "This operation was aborted", "AbortError");
}

/** One call of the host. Its abort controller is made only when somebody asks for the signal. */
export class CallScope {
	readonly callId: number;
	#controller: AbortController | undefined;
	#abortedWith: { reason: unknown } | undefined;

	constructor(callId: number) {
		this.callId = callId;
	}

	get signal(): AbortSignal {
		if (this.#controller === undefined) {
			this.#controller = new AbortController();
			if (this.#abortedWith !== undefined) this.#controller.abort(this.#abortedWith.reason);
		}
		return this.#controller.signal;
	}

	abort(reason: string | undefined): void {
		if (this.#abortedWith !== undefined) return;
		this.#abortedWith = { reason: abortReason(reason) };
		this.#controller?.abort(this.#abortedWith.reason);
	}
}

/** Carries the current call across `await`. The engine's `AsyncLocalStorage` fits; without it only synchronous code is covered. */
export interface CallCarrier {
	run<T>(callId: number, fn: () => T): T;
	getStore(): number | undefined;
}

class SynchronousCarrier implements CallCarrier {
	#current: number | undefined;

	run<T>(callId: number, fn: () => T): T {
		const outer = this.#current;
		this.#current = callId;
		try {
			return fn();
		} finally {
			this.#current = outer;
		}
	}

	getStore(): number | undefined {
		return this.#current;
	}
}

/** All open calls of the isolate. */
export class Calls {
	readonly #open = new Map<number, CallScope>();
	#carrier: CallCarrier = new SynchronousCarrier();

	useCarrier(carrier: CallCarrier): void {
		this.#carrier = carrier;
	}

	/** Call that the running code belongs to, if it is known. */
	get current(): number | undefined {
		return this.#carrier.getStore();
	}

	/**
	 * Runs `fn` as call `callId`. The call stays open, so that `abort` reaches it, until what `fn` returns has settled;
	 * a synchronous result is passed on without a promise.
	 */
	run<T>(callId: number, fn: (scope: CallScope) => T): T {
		const scope = new CallScope(callId);
		this.#open.set(callId, scope);
		let outcome: T;
		try {
			outcome = this.#carrier.run(callId, () => fn(scope));
		} catch (error) {
			this.#open.delete(callId);
			throw error;
		}
		if (outcome instanceof Promise) {
			return outcome.finally(() => this.#open.delete(callId)) as T;
		}
		this.#open.delete(callId);
		return outcome;
	}

	abort(callId: number, reason: string | undefined): void {
		this.#open.get(callId)?.abort(reason);
	}
}

/** `ctx.signal`: one signal for each agent run, made on first use. */
export class RunSignals {
	#current: { runId: number; controller: AbortController } | undefined;

	/** Signal of the run, or `undefined` when none is active. */
	signalFor(runId: number | undefined): AbortSignal | undefined {
		if (runId === undefined || runId === null) {
			this.#current = undefined;
			return undefined;
		}
		if (this.#current?.runId !== runId) {
			const controller = new AbortController();
			this.#current = { runId, controller };
			if (hostCall("run.watch", { runId }).aborted) controller.abort(abortReason(undefined));
		}
		return this.#current.controller.signal;
	}

	abort(runId: number, reason: string | undefined): void {
		if (this.#current?.runId === runId) this.#current.controller.abort(abortReason(reason));
	}
}
