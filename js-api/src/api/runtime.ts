// Everything that the extensions of one isolate share: records, binding, flags, bus, mirrors. One instance in a realm;
// tests make their own. Holds state and small lookups only; behaviour lives in the files that use it.

import { hostCall } from "../host.ts";
import { CallbackTable } from "./callbacks.ts";
import type { ChildToolSet } from "./child-tools.ts";
import { Calls, RunSignals } from "./calls.ts";
import { toError } from "./errors.ts";
import { EventBus } from "./event-bus.ts";
import type { BindHeader, FlagValue, LoadHeader, Registrations, UiFlavor } from "./protocol.ts";
import type { ExtensionRecord } from "./record.ts";
import { currentRealm, type Realm } from "./realm.ts";
import { SessionMirror } from "./session-mirror.ts";
import { StateCache } from "./state.ts";
import type { Namespaces } from "./types.ts";
import { ComponentTable } from "./ui/components.ts";

/** Rich `details` kept for renderers; older calls are drawn from their JSON form. */
const KEPT_DETAILS = 200;

export class Runtime {
	readonly records = new Map<number, ExtensionRecord>();
	readonly calls = new Calls();
	readonly runs = new RunSignals();
	readonly callbacks = new CallbackTable();
	readonly state = new StateCache();
	readonly session = new SessionMirror();
	readonly bus: EventBus;
	readonly components: ComponentTable;
	/** Custom tools of sessions that this isolate started. */
	readonly childTools = new Map<number, ChildToolSet>();
	/** One map for all extensions (§7.3). */
	readonly flagValues = new Map<string, FlagValue>();
	namespaces: Namespaces = {};
	/** Set for extensions that a session of this isolate was given as functions. */
	realm: Realm | undefined;
	bound: BindHeader | undefined;
	/** Runs once before the first extension loads: what must not happen while a snapshot is made. */
	onFirstLoad: ((header: LoadHeader) => void) | undefined;
	readonly #details = new Map<string, unknown>();
	#nextId = 1;

	constructor() {
		this.bus = new EventBus(this);
		this.components = new ComponentTable(this);
	}

	record(ext: number): ExtensionRecord {
		const record = this.records.get(ext);
		if (record === undefined) throw new Error(`Extension ${ext} is not loaded in this isolate`);
		return record;
	}

	/** Unique number for dialogs, commands and nested calls of this isolate. */
	nextId(): number {
		return this.#nextId++;
	}

	get flavor(): UiFlavor {
		const bound = this.bound;
		if (bound === undefined) return "none";
		if (bound.ui !== undefined) return bound.ui.flavor;
		if (!bound.hasUI) return "none";
		return bound.mode === "tui" || bound.mode === "rpc" ? bound.mode : "none";
	}

	/** Tells the host about a registration that was made after loading; during loading everything goes in one piece at the end. */
	announce(record: ExtensionRecord, change: Registrations): void {
		if (record.phase === "active") hostCall("register", { ext: record.ext, change });
	}

	retract(record: ExtensionRecord, kind: string, id: string | number): void {
		if (record.phase === "active") hostCall("unregister", { ext: record.ext, kind, id });
	}

	/** Keeps a tool result's `details` as the tool made them, for the renderer of the same package (§12). */
	rememberDetails(toolCallId: string, details: unknown): void {
		if (details === null || typeof details !== "object") return;
		this.#details.delete(toolCallId);
		this.#details.set(toolCallId, details);
		const oldest = this.#details.size > KEPT_DETAILS ? this.#details.keys().next().value : undefined;
		if (oldest !== undefined) this.#details.delete(oldest);
	}

	detailsOf(toolCallId: string): unknown {
		return this.#details.get(toolCallId);
	}

	forgetDetails(toolCallId: string): void {
		this.#details.delete(toolCallId);
	}

	/** Reports an error that no call carries. Never throws: it is the last resort of code that must not fail. */
	report(ext: number, event: string, thrown: unknown): void {
		const error = toError(thrown);
		try {
			hostCall("error", {
				ext,
				event,
				name: error.name,
				message: error.message,
				...(error.stack === undefined ? {} : { stack: error.stack }),
			});
		} catch {
			// The host is gone or refuses; there is nobody left to tell.
		}
	}
}

let current: Runtime | undefined;

/** The runtime of the running code. */
export function currentRuntime(): Runtime {
	const realm = currentRealm();
	if (realm !== undefined) return realm.runtime;
	current ??= new Runtime();
	return current;
}

/** Replaces the realm's runtime; for tests. */
export function useRuntime(runtime: Runtime): Runtime {
	current = runtime;
	return runtime;
}

/** Gives the API object its library namespaces. Called once by the host modules. */
export function setNamespaces(namespaces: Namespaces): void {
	Object.assign(currentRuntime().namespaces, namespaces);
}
