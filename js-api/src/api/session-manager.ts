// `ctx.sessionManager` (§4.6): synchronous readers over the mirror, and the mutable form that `newSession({setup})` receives.
// All methods work detached.

import { hostCall, hostCallAsync } from "../host.ts";
import type { JsonObject } from "./json.ts";
import type { SessionEntry, StoredBlob } from "./protocol.ts";
import { buildContextEntries, buildProjection, type SessionProjection } from "./session-context.ts";
import type { SessionMirror } from "./session-mirror.ts";
import { type SessionTreeNode, treeOf } from "./session-tree.ts";

export interface UsageStatistics {
	input: number;
	output: number;
	cacheRead: number;
	cacheWrite: number;
	cost: number;
	premiumRequests: number;
}

/** Bytes for one call of `String.fromCharCode`, which takes arguments up to a limit of the engine's; a multiple of three. */
const PIECE = 0x6000;

function base64(bytes: Uint8Array): string {
	let text = "";
	for (let at = 0; at < bytes.length; at += PIECE) {
		text += btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
	}
	return text;
}

export class SessionManagerView {
	readonly #mirror: SessionMirror;

	constructor(mirror: SessionMirror) {
		this.#mirror = mirror;
	}

	getCwd = (): string => this.#mirror.info.cwd;
	getSessionDir = (): string => this.#mirror.info.sessionDir;
	getSessionId = (): string => this.#mirror.info.sessionId;
	getSessionFile = (): string | undefined => this.#mirror.info.sessionFile ?? undefined;
	getSessionName = (): string | undefined => this.#mirror.info.sessionName ?? undefined;
	isPersisted = (): boolean => this.getSessionFile() !== undefined;
	getHeader = (): JsonObject | null => this.#mirror.header;
	getLeafId = (): string | null => this.#mirror.info.leafId ?? null;
	getLeafEntry = (): SessionEntry | undefined => {
		const leaf = this.getLeafId();
		return leaf === null ? undefined : this.#mirror.entry(leaf);
	};
	getEntry = (id: string): SessionEntry | undefined => this.#mirror.entry(id);
	getLabel = (id: string): string | undefined => this.#mirror.label(id)?.label;
	getEntries = (): SessionEntry[] => [...this.#mirror.entries];
	getEntryCount = (): number => this.#mirror.entries.length;
	getChildren = (parentId: string): SessionEntry[] => this.#mirror.entries.filter((e) => e.parentId === parentId);
	/** Root to leaf. */
	getBranch = (fromId?: string): SessionEntry[] => this.#mirror.branch(fromId);

	/** All entries as a forest, in file order. An entry whose parent is missing is a root. */
	getTree = (): SessionTreeNode[] => treeOf(this.#mirror.entries, (id) => this.#mirror.label(id));

	/** Entries that make up the model's context, after compaction (sessions §4). */
	buildContextEntries = (): SessionEntry[] => buildContextEntries(this.#mirror.branch());
	buildSessionProjection = (): SessionProjection => buildProjection(this.#mirror.branch());
	buildSessionContext = (): Omit<SessionProjection, "entries"> => {
		const { messages, thinkingLevel, model } = this.buildSessionProjection();
		return { messages, thinkingLevel, model };
	};

	/** Directory beside the session file that holds large tool output, `null` for a session in memory. */
	getArtifactsDir = (): string | null => this.getSessionFile()?.replace(/\.jsonl$/, "") ?? null;

	getUsageStatistics = (): UsageStatistics => {
		const total: UsageStatistics = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0, premiumRequests: 0 };
		for (const entry of this.#mirror.entries) {
			const message = entry.message as { role?: string; usage?: Record<string, unknown> } | undefined;
			if (entry.type !== "message" || message?.role !== "assistant" || message.usage === undefined) continue;
			const { usage } = message;
			for (const key of ["input", "output", "cacheRead", "cacheWrite", "premiumRequests"] as const) {
				total[key] += typeof usage[key] === "number" ? usage[key] : 0;
			}
			const cost = (usage.cost as { total?: unknown } | undefined)?.total;
			total.cost += typeof cost === "number" ? cost : 0;
		}
		return total;
	};

	allocateArtifactPath = (toolType: string): Promise<{ id?: string; path?: string }> =>
		hostCallAsync("session.artifact", { op: "allocate", toolType });
	saveArtifact = async (content: string, toolType: string): Promise<string | undefined> =>
		(await hostCallAsync("session.artifact", { op: "save", toolType, content })).id;
	getArtifactPath = async (id: string): Promise<string | null> =>
		(await hostCallAsync("session.artifact", { op: "path", id })).path ?? null;

	/** Keeps bytes under their SHA-256 in the agent directory; an image block may have `ref` as its `data`. */
	putBlob = async (bytes: Uint8Array): Promise<StoredBlob> => {
		if (!(bytes instanceof Uint8Array)) throw new TypeError("putBlob: expected a Buffer or Uint8Array");
		return hostCallAsync("putBlob", { data: base64(bytes) });
	};
}

/** Entry without the members that the host fills in. */
type Draft = { type: string; [member: string]: unknown };

/** The manager of a session that is being set up. Its mutators work only while the `setup` callback runs; the host sees to that. */
export class SetupSessionManager extends SessionManagerView {
	readonly #callId: number;

	constructor(mirror: SessionMirror, callId: number) {
		super(mirror);
		this.#callId = callId;
	}

	#append(entry: Draft): string {
		return hostCall("session.append", { callId: this.#callId, entry }).id;
	}

	appendMessage = (message: unknown): string => this.#append({ type: "message", message });
	appendCustomEntry = (customType: string, data?: unknown): string =>
		this.#append(data === undefined ? { type: "custom", customType } : { type: "custom", customType, data });
	appendCustomMessageEntry = (customType: string, content: unknown, display: boolean, details?: unknown): string =>
		this.#append({
			type: "custom_message",
			customType,
			content: content ?? [],
			display,
			...(details === undefined ? {} : { details }),
		});
	appendThinkingLevelChange = (thinkingLevel: string): string =>
		this.#append({ type: "thinking_level_change", thinkingLevel });
	appendModelChange = (provider: string, modelId: string): string =>
		this.#append({ type: "model_change", provider, modelId });
	appendSessionInfo = (name: string): string => this.#append({ type: "session_info", name });
	appendLabelChange = (targetId: string, label: string | undefined): string =>
		this.#append(label === undefined ? { type: "label", targetId } : { type: "label", targetId, label });
	appendContextEdit = (targetId: string, replacement: unknown): string =>
		this.#append({ type: "context_edit", targetId, replacement });
	/** Moves the leaf to an earlier entry. */
	branch = (targetId: string): void => {
		this.#append({ type: "leaf", targetId });
	};
	resetLeaf = (): void => {
		this.#append({ type: "leaf", targetId: null });
	};
}
