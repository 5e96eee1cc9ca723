// Waiting for an abort signal that many wait for.
//
// An event target looks through all its listeners to add or remove one, so thousands of dialogs or commands on one signal
// would cost the square of their number. Here a signal gets one listener and the rest is a set.

const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `act` once when the signal fires, which it must not have done yet. Returns how to take that back. */
export function whenAborted(signal: AbortSignal, act: () => void): () => void {
	let acts = waiting.get(signal);
	if (acts === undefined) {
		const all = new Set<() => void>();
		acts = all;
		waiting.set(signal, all);
		signal.addEventListener(
			"abort",
			() => {
				waiting.delete(signal);
				for (const each of all) each();
			},
			{ once: true },
		);
	}
	const known = acts;
	// A wrapper of its own: the same function may wait twice.
	const own = () => act();
	known.add(own);
	return () => {
		known.delete(own);
	};
}
