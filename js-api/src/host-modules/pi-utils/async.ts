// Waiting that can be cancelled.

function abortReason(signal: AbortSignal): unknown {
	return signal.reason ?? new DOMException("This operation was aborted", "AbortError");
}

/** Waits `ms` milliseconds. @throws the signal's reason when it aborts first */
export function abortableSleep(ms: number, signal?: AbortSignal): Promise<void> {
	return new Promise((resolve, reject) => {
		if (signal?.aborted) return reject(abortReason(signal));
		const onAbort = () => {
			clearTimeout(timer);
			reject(abortReason(signal as AbortSignal));
		};
		const timer = setTimeout(() => {
			signal?.removeEventListener("abort", onAbort);
			resolve();
		}, ms);
		signal?.addEventListener("abort", onAbort, { once: true });
	});
}

/** Awaits work, but no longer than until the signal aborts; the work itself goes on. Takes its arguments in either order. */
export async function untilAborted<T>(
	first: AbortSignal | undefined | null | Promise<T> | (() => Promise<T> | T),
	second?: AbortSignal | undefined | null | Promise<T> | (() => Promise<T> | T),
): Promise<T> {
	const isSignal = (value: unknown): value is AbortSignal | undefined | null =>
		value === undefined || value === null || value instanceof AbortSignal;
	const signal = isSignal(first) ? first : isSignal(second) ? second : undefined;
	const work = isSignal(first) ? second : first;
	if (signal?.aborted) throw abortReason(signal);
	const started = typeof work === "function" ? work() : (work as Promise<T>);
	if (!signal) return started;
	let onAbort = () => {};
	const aborted = new Promise<never>((_, reject) => {
		onAbort = () => reject(abortReason(signal));
		signal.addEventListener("abort", onAbort, { once: true });
	});
	try {
		return await Promise.race([started, aborted]);
	} finally {
		signal.removeEventListener("abort", onAbort);
	}
}

/** A function that runs `fn` at its first call and then keeps answering that result. */
export function once<T>(fn: () => T): () => T {
	let done: { value: T } | undefined;
	return () => {
		done ??= { value: fn() };
		return done.value;
	};
}
