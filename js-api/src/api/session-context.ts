// Which entries and messages of a branch the model sees (sessions §4). Pure functions over entries.

import { isRecord } from "./json.ts";
import type { SessionEntry } from "./protocol.ts";

export interface ProjectedEntry {
	sourceEntry: SessionEntry;
	messages: unknown[];
}

export interface SessionProjection {
	entries: ProjectedEntry[];
	messages: unknown[];
	thinkingLevel: string;
	model: { provider: string; modelId: string } | null;
}

/** Roles of messages that a context edit may change. */
const EDITABLE = new Set(["user", "assistant", "toolResult", "custom"]);

function isSystemMessage(entry: SessionEntry): boolean {
	return entry.type === "message" && (entry.message as { role?: string } | undefined)?.role === "system";
}

/** Entries of `path` that are in the context: all, or those that the last compaction keeps. */
export function buildContextEntries(path: readonly SessionEntry[]): SessionEntry[] {
	const at = path.findLastIndex((entry) => entry.type === "compaction");
	const compaction = path[at];
	if (compaction === undefined) return [...path];
	const before = path.slice(0, at);
	const firstKept = before.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
	const kept = firstKept === -1 ? [] : before.slice(firstKept).filter((entry) => !isSystemMessage(entry));
	return [compaction, ...kept, ...path.slice(at + 1)];
}

function timestampOf(entry: SessionEntry): number {
	const time = Date.parse(entry.timestamp);
	return Number.isNaN(time) ? 0 : time;
}

function messagesOf(entry: SessionEntry, index: number): Record<string, unknown>[] {
	const timestamp = timestampOf(entry);
	switch (entry.type) {
		case "message": {
			if (!isRecord(entry.message)) return [];
			const { message } = entry;
			return [message.content === null ? { ...message, content: message.role === "system" ? "" : [] } : message];
		}
		case "custom_message": {
			const { customType, content, display, details } = entry;
			const message = { role: "custom", customType, content: content ?? [], display, timestamp };
			return [details === undefined ? message : { ...message, details }];
		}
		case "branch_summary":
			if (typeof entry.summary !== "string" || entry.summary === "") return [];
			return [{ role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp }];
		case "compaction": {
			if (index !== 0) return [];
			const summary = {
				role: "compactionSummary",
				summary: entry.summary,
				tokensBefore: entry.tokensBefore,
				timestamp,
			};
			return isRecord(entry.systemMessage) ? [entry.systemMessage, summary] : [summary];
		}
		default:
			return [];
	}
}

function edited(messages: Record<string, unknown>[], replacement: unknown): Record<string, unknown>[] {
	if (replacement === null) return [];
	if (!isRecord(replacement)) return messages;
	const { content } = replacement;
	return messages.map((message) => {
		if (!EDITABLE.has(String(message.role))) return message;
		const needsBlocks = message.role === "assistant" || message.role === "toolResult";
		const next = typeof content === "string" && needsBlocks ? [{ type: "text", text: content }] : content;
		return { ...message, content: next };
	});
}

function splitModel(entry: SessionEntry): { provider: string; modelId: string } | undefined {
	if (typeof entry.provider === "string" && typeof entry.modelId === "string") {
		return { provider: entry.provider, modelId: entry.modelId };
	}
	// xcsh writes one string, "provider/id"; ids may contain slashes.
	const slash = typeof entry.model === "string" ? entry.model.indexOf("/") : -1;
	if (typeof entry.model !== "string" || slash < 1) return undefined;
	return { provider: entry.model.slice(0, slash), modelId: entry.model.slice(slash + 1) };
}

export function buildProjection(path: readonly SessionEntry[]): SessionProjection {
	let thinkingLevel = "off";
	let model: SessionProjection["model"] = null;
	for (const entry of path) {
		// xcsh writes null for no thinking.
		if (entry.type === "thinking_level_change") thinkingLevel = String(entry.thinkingLevel ?? "off");
		else if (entry.type === "model_change") model = splitModel(entry) ?? model;
		else if (entry.type === "message" && isRecord(entry.message) && entry.message.role === "assistant") {
			const { provider, model: modelId } = entry.message;
			if (typeof provider === "string" && typeof modelId === "string") model = { provider, modelId };
		}
	}
	const contextEntries = buildContextEntries(path);
	const edits = new Map<string, unknown>();
	for (const entry of contextEntries) {
		if (entry.type === "context_edit" && typeof entry.targetId === "string") {
			edits.set(entry.targetId, entry.replacement ?? null);
		}
	}
	const entries = contextEntries.map((sourceEntry, index): ProjectedEntry => {
		const messages = messagesOf(sourceEntry, index);
		return {
			sourceEntry,
			messages: edits.has(sourceEntry.id) ? edited(messages, edits.get(sourceEntry.id)) : messages,
		};
	});
	return { entries, messages: entries.flatMap((entry) => entry.messages), thinkingLevel, model };
}
