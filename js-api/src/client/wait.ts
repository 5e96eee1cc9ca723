// A promise that somebody else settles, with the bounds that the caller set: a time limit and a signal.

import { PierTimeoutError } from "./errors.js";

/** Bounds of one wait. */
export interface WaitOptions {
	/** Milliseconds; 0 means none. */
	timeout?: number | undefined;
	/** Ends the wait with the signal's reason. */
	signal?: AbortSignal | undefined;
}

/** Longest time that Node's timers can hold, about 24 days. */
const LONGEST = 2 ** 31 - 1;

export class Wait<T> {
	readonly promise: Promise<T>;
	#settle: { resolve(value: T): void; reject(reason: unknown): void } | undefined;
	readonly #timer: NodeJS.Timeout | undefined;
	readonly #signal: AbortSignal | undefined;
	readonly #onAbort = () => this.reject(this.#signal?.reason);
	readonly #ended: () => void;

	/** `what` is named when the time is over; `ended` is called once, however the wait ends. */
	constructor(what: string, options: WaitOptions, ended: () => void = () => undefined) {
		this.promise = new Promise((resolve, reject) => {
			this.#settle = { resolve, reject };
		});
		this.#ended = ended;
		const timeout = options.timeout ?? 0;
		if (timeout > 0 && timeout <= LONGEST) {
			this.#timer = setTimeout(() => this.reject(new PierTimeoutError(what, timeout)), timeout);
		}
		this.#signal = options.signal;
		if (this.#signal?.aborted) this.#onAbort();
		else this.#signal?.addEventListener("abort", this.#onAbort, { once: true });
	}

	get over(): boolean {
		return this.#settle === undefined;
	}

	resolve(value: T): void {
		this.#end()?.resolve(value);
	}

	reject(reason: unknown): void {
		this.#end()?.reject(reason);
	}

	#end() {
		const settle = this.#settle;
		if (settle === undefined) return undefined;
		this.#settle = undefined;
		clearTimeout(this.#timer);
		this.#signal?.removeEventListener("abort", this.#onAbort);
		this.#ended();
		return settle;
	}
}

/** Whether a promise settles within some milliseconds. */
export async function settlesWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<boolean>((resolve) => {
		timer = setTimeout(() => resolve(false), milliseconds);
	});
	try {
		return await Promise.race([promise.then(() => true), late]);
	} finally {
		clearTimeout(timer);
	}
}
