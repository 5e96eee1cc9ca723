// Reading session files: lines to entries, a branch of entries to messages (sessions §2, agent-loop §1).

import type { SessionEntry } from "../../api/protocol.ts";
import {
	buildContextEntries as contextEntries,
	buildProjection,
	type SessionProjection,
} from "../../api/session-context.ts";

/** Version of the session file format that is written. */
export const CURRENT_SESSION_VERSION = 3;

export interface FileEntry {
	type: string;
	id?: string;
	parentId?: string | null;
	timestamp?: string;
	[member: string]: unknown;
}

export type { SessionEntry };

/** Entries of a session file, header included. Lines that are not JSON objects are skipped: a crash may have cut the last one. */
export function parseSessionEntries(content: string): FileEntry[] {
	const entries: FileEntry[] = [];
	for (const line of content.split("\n")) {
		if (line.trim() === "") continue;
		try {
			const value: unknown = JSON.parse(line);
			if (typeof value === "object" && value !== null && !Array.isArray(value)) entries.push(value as FileEntry);
		} catch {
			// Skipped, see above.
		}
	}
	return entries;
}

function newId(taken: Set<string>): string {
	for (;;) {
		const id = crypto.randomUUID().slice(0, 8);
		if (taken.has(id)) continue;
		taken.add(id);
		return id;
	}
}

/** Brings entries of older files to the current form, in place: version 1 had no tree, version 2 other names. */
export function migrateSessionEntries(entries: FileEntry[]): void {
	const header = entries.find((entry) => entry.type === "session");
	const version = typeof header?.version === "number" ? header.version : 1;
	if (version < 2) addTree(entries);
	if (version < 3) {
		for (const entry of entries) {
			const message = entry.message as { role?: string } | undefined;
			if (entry.type === "message" && message?.role === "hookMessage") message.role = "custom";
		}
	}
	if (header !== undefined) header.version = CURRENT_SESSION_VERSION;
}

/** Version 1 listed entries in order: each becomes the child of the one before, and indices become ids. */
function addTree(entries: FileEntry[]): void {
	const taken = new Set<string>();
	let parentId: string | null = null;
	for (const entry of entries) {
		if (entry.type === "session") continue;
		entry.id = newId(taken);
		entry.parentId = parentId;
		parentId = entry.id;
	}
	for (const entry of entries) {
		if (entry.type !== "compaction" || typeof entry.firstKeptEntryIndex !== "number") continue;
		const kept = entries[entry.firstKeptEntryIndex];
		if (kept?.id !== undefined && kept.type !== "session") entry.firstKeptEntryId = kept.id;
		delete entry.firstKeptEntryIndex;
	}
}

/** The newest compaction of a branch. */
export function getLatestCompactionEntry<E extends FileEntry>(entries: readonly E[]): E | null {
	return entries.findLast((entry) => entry.type === "compaction") ?? null;
}

/** Root to leaf. Stops at an id that repeats, so that a damaged file cannot hang its reader. */
export function branchTo(entries: readonly SessionEntry[], leafId: string | null | undefined): SessionEntry[] {
	if (leafId === null) return [];
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	// A line without an id is no entry; it may stand among them in a damaged file.
	let entry = leafId === undefined ? entries.findLast(({ id }) => typeof id === "string") : byId.get(leafId);
	const branch: SessionEntry[] = [];
	const seen = new Set<string>();
	while (entry !== undefined && !seen.has(entry.id)) {
		seen.add(entry.id);
		branch.push(entry);
		entry = entry.parentId === null ? undefined : byId.get(entry.parentId);
	}
	return branch.reverse();
}

/** The messages that an entry contributes to the context on its own. */
export function sessionEntryToContextMessages(entry: SessionEntry): Record<string, unknown>[] {
	// Only the summary that opens a context counts; here each entry is looked at alone.
	return buildProjection([entry]).messages as Record<string, unknown>[];
}

/** Entries of a branch that make up its context. */
export function buildContextEntries(entries: readonly SessionEntry[], leafId?: string | null): SessionEntry[] {
	return contextEntries(branchTo(entries, leafId));
}

/** The same with the messages that each entry contributes. */
export function buildSessionProjection(entries: readonly SessionEntry[], leafId?: string | null): SessionProjection {
	return buildProjection(branchTo(entries, leafId));
}

/** Context messages, model and thinking level at a leaf (the last entry by default, nothing for `null`). */
export function buildSessionContext(
	entries: readonly SessionEntry[],
	leafId?: string | null,
): Omit<SessionProjection, "entries"> {
	const { messages, thinkingLevel, model } = buildSessionProjection(entries, leafId);
	return { messages, thinkingLevel, model };
}
