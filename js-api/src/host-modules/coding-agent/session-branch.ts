// Which entries a new session gets when a branch is copied (sessions §5). The host's own rules: runtime/agent/src/session/fork.rs.

import type { ResolvedLabel } from "../../api/session-tree.ts";
import type { SessionEntry } from "./session-entries.ts";

/** An id that is in none of `taken`: eight hex digits, a whole UUID when a hundred tries fail. */
export function newEntryId(taken: { has(id: string): boolean }): string {
	for (let attempt = 0; attempt < 100; attempt++) {
		const id = crypto.randomUUID().slice(0, 8);
		if (!taken.has(id)) return id;
	}
	return crypto.randomUUID();
}

/** Whether an entry is part of the conversation proper: a session without any has no file yet (sessions §3). */
export function isConversation(entry: SessionEntry): boolean {
	const role = entry.type === "message" ? (entry.message as { role?: string } | undefined)?.role : undefined;
	return role === "user" || role === "assistant";
}

/**
 * The branch without its labels, the chain closed over the gaps; labels of kept entries follow at the end with their old timestamps.
 * A compaction whose first kept entry was such a label keeps from the next entry on.
 */
export function copyBranch(
	branch: readonly SessionEntry[],
	labelOf: (id: string) => ResolvedLabel | undefined,
): SessionEntry[] {
	const moved = new Map<unknown, string>();
	let nextKept: string | undefined;
	for (const entry of branch.toReversed()) {
		if (entry.type !== "label") nextKept = entry.id;
		else if (nextKept !== undefined) moved.set(entry.id, nextKept);
	}
	let parentId: string | null = null;
	const copied: SessionEntry[] = [];
	for (const entry of branch) {
		if (entry.type === "label") continue;
		const firstKept = entry.type === "compaction" ? moved.get(entry.firstKeptEntryId) : undefined;
		copied.push({ ...entry, parentId, ...(firstKept === undefined ? {} : { firstKeptEntryId: firstKept }) });
		parentId = entry.id;
	}
	const taken = new Set(copied.map(({ id }) => id));
	for (const targetId of [...taken]) {
		const resolved = labelOf(targetId);
		if (resolved === undefined) continue;
		const id = newEntryId(taken);
		taken.add(id);
		const { label, timestamp } = resolved;
		copied.push({ type: "label", id, parentId, timestamp, targetId, label });
		parentId = id;
	}
	return copied;
}
