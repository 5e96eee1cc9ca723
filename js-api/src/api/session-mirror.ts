// A copy of the session's entries in this isolate (§12 "synchronous getters"). Only new entries cross; readers ask the host for one
// number and work on the copy. Entries are frozen: they are the session, not the extension's to edit.

import { hostCall } from "../host.ts";
import { deepFreeze, type JsonObject } from "./json.ts";
import type { SessionEntry, SessionSync } from "./protocol.ts";
import { SessionManagerView } from "./session-manager.ts";

/** How many `appendEntry` payloads are kept by reference until their entry arrives. */
const KEPT_ORIGINALS = 1000;

/** Where entries come from. */
export interface SessionSource {
	/** Changes whenever the session does. */
	version(): number;
	sync(known: { epoch: number | undefined; version: number | undefined }): SessionSync;
}

/** The session that this isolate's extensions belong to. */
const OWN_SESSION: SessionSource = {
	version: () => hostCall("stateVersion"),
	sync: (known) => hostCall("session.sync", known),
};

export class SessionMirror {
	/** The reader object that contexts hand out. */
	readonly manager: SessionManagerView;
	#epoch: number | undefined;
	#version: number | undefined;
	#seenState: number | undefined;
	#entries: SessionEntry[] = [];
	#byId = new Map<string, SessionEntry>();
	#labels = new Map<string, { label: string; timestamp: string }>();
	#info: Omit<SessionSync, "entries" | "reset"> | undefined;
	readonly #originals = new Map<string, unknown>();

	readonly #source: SessionSource;

	constructor(source: SessionSource = OWN_SESSION) {
		this.#source = source;
		this.manager = new SessionManagerView(this);
	}

	/** Brings the copy up to date. */
	refresh(): this {
		const state = this.#source.version();
		if (this.#info !== undefined && this.#seenState === state) return this;
		const sync = this.#source.sync({ epoch: this.#epoch, version: this.#version });
		if (sync.reset) this.#clear();
		for (const entry of sync.entries) this.#add(entry);
		this.#epoch = sync.epoch;
		this.#version = sync.version;
		this.#seenState = state;
		if (sync.header !== null && sync.header !== undefined) deepFreeze(sync.header);
		this.#info = sync;
		return this;
	}

	#clear(): void {
		this.#entries = [];
		this.#byId = new Map();
		this.#labels = new Map();
	}

	#add(entry: SessionEntry): void {
		const original = this.#originals.get(entry.id);
		this.#originals.delete(entry.id);
		deepFreeze(entry);
		// The in-memory entry keeps the reference that was appended until the session is read again (§3.3).
		const kept: SessionEntry = original === undefined ? entry : Object.freeze({ ...entry, data: original });
		this.#entries.push(kept);
		this.#byId.set(kept.id, kept);
		if (kept.type === "label" && typeof kept.targetId === "string") {
			if (typeof kept.label === "string" && kept.label !== "") {
				this.#labels.set(kept.targetId, { label: kept.label, timestamp: kept.timestamp });
			} else this.#labels.delete(kept.targetId);
		}
	}

	/** Remembers what `appendEntry` was given, for the entry `id` that is about to arrive. */
	keepOriginal(id: string, data: unknown): void {
		if (data === null || typeof data !== "object") return;
		if (this.#originals.size >= KEPT_ORIGINALS) {
			const oldest = this.#originals.keys().next().value;
			if (oldest !== undefined) this.#originals.delete(oldest);
		}
		this.#originals.set(id, data);
	}

	get entries(): readonly SessionEntry[] {
		return this.refresh().#entries;
	}

	entry(id: string): SessionEntry | undefined {
		return this.refresh().#byId.get(id);
	}

	label(id: string): { label: string; timestamp: string } | undefined {
		return this.refresh().#labels.get(id);
	}

	get info(): Omit<SessionSync, "entries" | "reset"> {
		this.refresh();
		if (this.#info === undefined) throw new Error("The host sent no session");
		return this.#info;
	}

	get header(): JsonObject | null {
		return this.info.header ?? null;
	}

	/** Entries from the root to `fromId` (default: the leaf). A parent that repeats or is missing ends the path. */
	branch(fromId?: string | null): SessionEntry[] {
		const start = fromId === undefined ? this.info.leafId : fromId;
		this.refresh();
		const path: SessionEntry[] = [];
		const seen = new Set<string>();
		let id: string | null | undefined = start;
		while (id !== null && id !== undefined && !seen.has(id)) {
			const entry = this.#byId.get(id);
			if (entry === undefined) break;
			seen.add(id);
			path.push(entry);
			id = entry.parentId;
		}
		return path.reverse();
	}
}
