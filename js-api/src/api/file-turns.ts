// Turns in the queues of files (`withFileMutationQueue`): which of them the running code has. The host counts what it does there as part
// of them. Must not know what is done with a file.

import type { Storage } from "./realm.ts";

let newStorage: (<S>() => Storage<S>) | undefined;
/** Set with the first turn: until then nothing here costs anything. */
let storage: Storage<readonly number[]> | undefined;

/** Gives this file the engine's asynchronous storage; without it a turn knows nothing of what is done inside of it. */
export function useTurnStorage(make: <S>() => Storage<S>): void {
	newStorage = make;
}

/** The member of a host call that names the turns of the running code. Those that are over do no harm. */
export function insideTurns(): { inside?: readonly number[] } {
	const inside = storage?.getStore();
	return inside === undefined ? {} : { inside };
}

/** Runs `fn` as what is done in that turn. */
export function runInTurn<T>(turn: number, fn: () => T): T {
	storage ??= newStorage?.<readonly number[]>();
	if (storage === undefined) return fn();
	return storage.run([...(storage.getStore() ?? []), turn], fn);
}
