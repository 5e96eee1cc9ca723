// Entry of the API in an isolate: connects to the engine and installs the handlers. Evaluated once, possibly into a snapshot, so it must
// not read the clock, the environment or the host.

import "../host-native.ts";
import type { CallCarrier } from "./calls.ts";
import { type Storage, useRealmStorage } from "./realm.ts";
import { useTurnStorage } from "./file-turns.ts";
import { startApi } from "./handler.ts";
import { currentRuntime } from "./runtime.ts";

interface AsyncHooks {
	AsyncLocalStorage: new <S>() => Storage<S>;
}

/**
 * Lets `pi.*` calls know which call they belong to across `await`. Node's storage does that; where the engine has no such module only
 * synchronous code is attributed.
 */
function useAsyncStorage(): void {
	const hooks = globalThis.process?.getBuiltinModule?.("node:async_hooks") as AsyncHooks | undefined;
	if (hooks === undefined) return;
	currentRuntime().calls.useCarrier(new hooks.AsyncLocalStorage<number>() as CallCarrier);
	useRealmStorage(() => new hooks.AsyncLocalStorage());
	useTurnStorage(() => new hooks.AsyncLocalStorage());
}

currentRuntime().onFirstLoad = useAsyncStorage;
startApi(currentRuntime());
