// Typed wrapper of the functions that the engine gives to an isolate. Everything that talks to the host goes through here.
// It must never know what a method means: `api/protocol.ts` lists methods, this file moves JSON text.

import type { AsyncMethods, HandlerKinds, SyncMethods } from "./api/protocol.ts";
import { errorFromHost } from "./api/errors.ts";
import { toJsonText } from "./api/json.ts";

/** The four native functions. A test supplies its own. */
export interface HostPort {
	call(method: string, args: string): string | undefined;
	callAsync(method: string, args: string): Promise<string | undefined>;
	setHandler(handler: HostHandler): void;
	importModule(specifier: string): Promise<Record<string, unknown>>;
}

/** Receives one call of the host. Text in, text out. */
export type HostHandler = (
	kind: string,
	header: string,
	payload: string | undefined,
) => string | undefined | Promise<string | undefined>;

let port: HostPort | undefined;

/** Connects the isolate to its host. The last call wins. */
export function connectHost(connected: HostPort): void {
	port = connected;
}

let route: (() => number | undefined) | undefined;

/** Says for which session of this isolate the running code calls the host; `undefined` = the isolate's own. */
export function routeHostCalls(current: () => number | undefined): void {
	route = current;
}

/** A method's name as the host routes it. */
function routed(method: string): string {
	const realm = route?.();
	return realm === undefined ? method : `@${realm}/${method}`;
}

function connectedPort(): HostPort {
	if (port === undefined) throw new Error("The Pier host is not connected in this realm.");
	return port;
}

type ArgsOf<M> = M extends { args: infer A } ? A : never;
type ResultOf<M> = M extends { result: infer R } ? R : never;
/** Methods without arguments may be called without any. */
type Params<M> = undefined extends ArgsOf<M> ? [args?: ArgsOf<M>] : [args: ArgsOf<M>];

/** Synchronous host call: answers from shared state, never waits. Throws the host's error, mapped to its class. */
export function hostCall<K extends keyof SyncMethods>(
	method: K,
	...params: Params<SyncMethods[K]>
): ResultOf<SyncMethods[K]> {
	let answer: string | undefined;
	const args = toJsonText(params[0] ?? {}, `host call ${method}`);
	try {
		answer = connectedPort().call(routed(method), args);
	} catch (error) {
		throw errorFromHost(error);
	}
	return parseAnswer(answer) as ResultOf<SyncMethods[K]>;
}

/** Asynchronous host call. Argument errors reject as well, so that callers have one place to look. */
export async function hostCallAsync<K extends keyof AsyncMethods>(
	method: K,
	...params: Params<AsyncMethods[K]>
): Promise<ResultOf<AsyncMethods[K]>> {
	const args = toJsonText(params[0] ?? {}, `host call ${method}`);
	let answer: string | undefined;
	try {
		answer = await connectedPort().callAsync(routed(method), args);
	} catch (error) {
		throw errorFromHost(error);
	}
	return parseAnswer(answer) as ResultOf<AsyncMethods[K]>;
}

function parseAnswer(answer: string | undefined): unknown {
	return answer === undefined || answer === "" ? undefined : JSON.parse(answer);
}

/** Imports a module through the isolate's loader. */
export function importModule(specifier: string): Promise<Record<string, unknown>> {
	return connectedPort().importModule(specifier);
}

/** Handler for one kind: parsed header, payload still as text because some kinds compare it. */
export type KindHandler<K extends keyof HandlerKinds> = (
	header: HandlerKinds[K],
	payload: string | undefined,
) => unknown;

export type KindTable = { [K in keyof HandlerKinds]: KindHandler<K> };

/** Whose handlers a call goes to, and how code is run as theirs. */
export interface Receiver {
	table: KindTable;
	enter<T>(fn: () => T): T;
}

/**
 * Installs the handlers of this isolate; a header with `realm` goes to those that `receiver` answers. A handler that answers without waiting is answered without a promise, because
 * most dispatches are synchronous and a promise costs a turn of the event loop.
 */
export function setHandlers(own: KindTable, receiver: (realm: number, kind: string) => Receiver): void {
	connectedPort().setHandler((kind, text, payload) => {
		const header = text === "" ? {} : JSON.parse(text);
		const other = header.realm === undefined ? undefined : receiver(header.realm, kind);
		const table = other?.table ?? own;
		const handler = (table as Record<string, ((h: unknown, p: string | undefined) => unknown) | undefined>)[kind];
		if (!Object.hasOwn(table, kind) || handler === undefined) {
			throw new TypeError(`Unknown call kind "${kind}" from the host`);
		}
		const outcome = other === undefined ? handler(header, payload) : other.enter(() => handler(header, payload));
		if (isThenable(outcome)) return Promise.resolve(outcome).then((value) => encode(kind, value));
		return encode(kind, outcome);
	});
}

function encode(kind: string, value: unknown): string | undefined {
	return value === undefined ? undefined : toJsonText(value, `result of ${kind}`);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
	return (
		value !== null &&
		(typeof value === "object" || typeof value === "function") &&
		typeof (value as { then?: unknown }).then === "function"
	);
}
