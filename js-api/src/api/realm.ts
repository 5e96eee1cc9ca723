// Realms (docs/bridge-protocol.md, "Sessions of extensions"): extensions that a session was given as functions live in the isolate of
// whoever gave them, beside its own extensions, with a runtime and a host of their own. This file knows to which of them running code
// belongs, and takes what belongs to one back there, wherever it is called from.

import { routeHostCalls } from "../host.ts";
import type { CallCarrier } from "./calls.ts";
import type { Runtime } from "./runtime.ts";

export interface Realm {
	readonly number: number;
	readonly runtime: Runtime;
}

/** Carries a value across `await`. */
export interface Storage<S> {
	run<T>(value: S, fn: () => T): T;
	getStore(): S | undefined;
}

/** How entries of functions begin; the token and the position of the function follow. */
const ENTRY = "pier:inline/";

const realms = new Map<number, Realm>();
const factories = new Map<number, { owner: Realm | undefined; given: readonly unknown[] }>();
let newStorage: (<S>() => Storage<S>) | undefined;
/** Set with the first realm: until then nothing here costs anything. */
let storage: Storage<Realm | undefined> | undefined;
let nextToken = 1;

/** Gives this file the engine's asynchronous storage; without it there are no realms. */
export function useRealmStorage(make: <S>() => Storage<S>): void {
	newStorage = make;
}

/** Keeps functions until the session that gets them ends; the host names them by the token. */
export function keepFactories(given: readonly unknown[]): number {
	const token = nextToken++;
	factories.set(token, { owner: currentRealm(), given });
	return token;
}

export function forgetFactories(token: number): void {
	factories.delete(token);
}

/** The function that an entry names, if it names one. */
export function inlineFactory(entry: string): ((pi: unknown) => unknown) | undefined {
	if (!entry.startsWith(ENTRY)) return undefined;
	const [token, position] = entry.slice(ENTRY.length).split("/").map(Number);
	const factory = factories.get(token ?? 0)?.given[position ?? 0];
	if (typeof factory !== "function") throw new Error("The session that had this extension was disposed.");
	return factory as (pi: unknown) => unknown;
}

/** The realm of the running code; `undefined` = the isolate's own extensions. */
export function currentRealm(): Realm | undefined {
	return storage?.getStore();
}

/** The runtime that a call of the host is for; a load may begin a new realm. */
export function realmRuntime(number: number, kind: string, make: () => Runtime): Runtime {
	const known = realms.get(number);
	if (known !== undefined) return known.runtime;
	if (kind !== "load") throw new Error("This session was disposed.");
	if (newStorage === undefined) throw new Error("extensionFactories: this engine has no asynchronous storage");
	if (storage === undefined) {
		storage = newStorage<Realm | undefined>();
		routeHostCalls(() => currentRealm()?.number);
	}
	const runtime = make();
	const realm = { number, runtime };
	runtime.realm = realm;
	runtime.calls.useCarrier(newStorage<number>() as CallCarrier);
	realms.set(number, realm);
	return runtime;
}

export function endRealm(runtime: Runtime): void {
	if (runtime.realm === undefined) return;
	realms.delete(runtime.realm.number);
	// Sessions that its extensions started end with it.
	for (const [token, { owner }] of factories) if (owner === runtime.realm) factories.delete(token);
	for (const record of runtime.records.values()) runtime.bus.removeAll(record);
}

/** Runs `fn` as code of `runtime`'s extensions. */
export function within<T>(runtime: Runtime, fn: () => T): T {
	if (storage === undefined || storage.getStore() === runtime.realm) return fn();
	return storage.run(runtime.realm, fn);
}

/** The object with methods that run as code of `runtime`'s extensions, wherever they are called. */
export function boundMethods<T extends object>(runtime: Runtime, object: T): T {
	const descriptors = Object.getOwnPropertyDescriptors(object) as PropertyDescriptorMap;
	for (const descriptor of Object.values(descriptors)) {
		const method: unknown = descriptor.value;
		if (typeof method !== "function") continue;
		descriptor.value = (...args: unknown[]) => within(runtime, () => Reflect.apply(method, object, args));
	}
	return Object.defineProperties({}, descriptors) as T;
}

const views = new WeakMap<object, WeakMap<Runtime, object>>();

/** The same for a value that a context shows: functions, and objects whose methods ask the host. Costs nothing without realms. */
export function bound<T>(runtime: Runtime, value: T): T {
	if (storage === undefined) return value;
	if (typeof value === "function") {
		return ((...args: unknown[]) => within(runtime, () => Reflect.apply(value, undefined, args))) as T;
	}
	return value;
}

/** A stand-in for an object of the API whose members run as code of `runtime`'s extensions. */
export function boundView<T extends object>(runtime: Runtime, object: T): T {
	if (storage === undefined) return object;
	const known = views.get(object) ?? new WeakMap<Runtime, object>();
	views.set(object, known);
	const view =
		known.get(runtime) ??
		new Proxy(object, {
			get: (target, key) => {
				const value: unknown = within(runtime, () => Reflect.get(target, key, target));
				if (typeof value !== "function") return value;
				return (...args: unknown[]) => within(runtime, () => Reflect.apply(value, target, args));
			},
		});
	known.set(runtime, view);
	return view as T;
}
