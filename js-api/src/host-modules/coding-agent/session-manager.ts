// Session files from an extension's side: reading, listing and writing sessions other than the running one (sessions §1, §3, §5, §6).
// The running session belongs to the host; `ctx.sessionManager` is the way to it. Opening its file here gives a reader's copy.

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { getCurrentSystemMessage } from "@earendil-works/pi-ai/utils/transcript";
import { isRecord } from "../../api/json.ts";
import type { SessionManagerView } from "../../api/session-manager.ts";
import { type ResolvedLabel, type SessionTreeNode, treeOf } from "../../api/session-tree.ts";
import { expandHome } from "../host-info.ts";
import { copyBranch, isConversation, newEntryId } from "./session-branch.ts";
import {
	branchTo,
	buildContextEntries,
	buildSessionContext,
	buildSessionProjection,
	CURRENT_SESSION_VERSION,
	type SessionEntry,
} from "./session-entries.ts";
import {
	appendLine,
	createSessionFile,
	endLine,
	loadSession,
	replaceMigrated,
	type StoredHeader,
	sessionText,
} from "./session-files.ts";
import {
	fileOfId,
	listEverything,
	listProject,
	nameOf,
	newestFile,
	type SessionInfo,
	sessionDirectory,
} from "./session-list.ts";

export type { SessionInfo };
export type SessionHeader = StoredHeader;

export interface NewSessionOptions {
	/** Becomes part of the file's name. */
	id?: string;
	parentSession?: string;
}

type Draft = { type: string; [member: string]: unknown };

/** UUIDv7: sortable by time. */
function newSessionId(): string {
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	new DataView(bytes.buffer).setBigUint64(
		0,
		(BigInt(Date.now()) << 16n) | BigInt(((bytes[6] ?? 0) << 8) | (bytes[7] ?? 0)),
	);
	bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
	bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
	const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
	return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

function newHeader(cwd: string, options: NewSessionOptions): SessionHeader {
	if (options.id !== undefined && !/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(options.id)) {
		throw new Error(
			`Invalid session id '${options.id}': use letters, digits, '.', '_' and '-', starting and ending with a letter or digit`,
		);
	}
	return {
		type: "session",
		version: CURRENT_SESSION_VERSION,
		id: options.id ?? newSessionId(),
		timestamp: new Date().toISOString(),
		cwd: resolve(cwd),
		...(options.parentSession === undefined ? {} : { parentSession: options.parentSession }),
	};
}

function fileFor(header: SessionHeader, directory: string): string {
	return join(directory, `${header.timestamp.replace(/[:.]/g, "-")}_${header.id}.jsonl`);
}

export class SessionManager {
	private header: SessionHeader;
	private cwd: string;
	private entries: SessionEntry[] = [];
	private byId = new Map<string, SessionEntry>();
	private labels = new Map<string, ResolvedLabel>();
	private leafId: string | null = null;
	private file: string | undefined;
	/** False until the first write of a new session: one without a conversation leaves no file. */
	private written: boolean;
	private attached = false;
	private readonly directory: string;

	private constructor(
		header: SessionHeader,
		directory: string,
		file: string | undefined,
		entries: readonly SessionEntry[] = [],
		written = false,
	) {
		this.header = header;
		this.cwd = header.cwd || process.cwd();
		this.directory = directory;
		this.file = file;
		this.written = written;
		for (const entry of entries) this.index(entry);
	}

	/** A new session of a project. Its file appears with the first message of the user or of a model. */
	static create(cwd: string, sessionDir?: string, options: NewSessionOptions = {}): SessionManager {
		const directory = sessionDirectory(cwd, sessionDir);
		const header = newHeader(cwd, options);
		return new SessionManager(header, directory, fileFor(header, directory));
	}

	/**
	 * Opens a session file; one that does not exist yet becomes a new session bound to that path. Opening gives an empty file its header, a
	 * file of an older version its new form, and a last line its line end.
	 * @throws when the file is not a session; it is untouched then
	 */
	static open(path: string, sessionDir?: string, cwdOverride?: string): SessionManager {
		const file = resolve(expandHome(path));
		const directory = sessionDir === undefined ? dirname(file) : resolve(expandHome(sessionDir));
		const cwd = cwdOverride ?? process.cwd();
		if (!existsSync(file)) return new SessionManager(newHeader(cwd, {}), directory, file);
		const session = loadSession(file);
		if (session === undefined) {
			const header = newHeader(cwd, {});
			appendLine(file, JSON.stringify(header));
			return new SessionManager(header, directory, file, [], true);
		}
		if (session.migrated !== undefined) replaceMigrated(file, session);
		else if (!session.ended) endLine(file);
		const manager = new SessionManager(session.header, directory, file, session.entries, true);
		if (cwdOverride !== undefined) manager.cwd = resolve(cwdOverride);
		return manager;
	}

	/** The session of the project that was changed last, else a new one. */
	static continueRecent(cwd: string, sessionDir?: string): SessionManager {
		const newest = newestFile(cwd, sessionDirectory(cwd, sessionDir));
		return newest === undefined ? SessionManager.create(cwd, sessionDir) : SessionManager.open(newest, sessionDir);
	}

	/** A session without a file, maybe with entries from elsewhere. */
	static inMemory(
		cwd: string = process.cwd(),
		options: NewSessionOptions = {},
		entries: readonly SessionEntry[] = [],
	): SessionManager {
		return new SessionManager(newHeader(cwd, options), "", undefined, structuredClone(entries));
	}

	/** Copies all entries of a session into a new one of another project. The source is only read. */
	static forkFrom(
		sourcePath: string,
		targetCwd: string,
		sessionDir?: string,
		options: NewSessionOptions = {},
	): SessionManager {
		const source = resolve(expandHome(sourcePath));
		const session = loadSession(source);
		if (session === undefined) throw new Error(`Session file is not a valid pi session: ${source}`);
		const directory = sessionDirectory(targetCwd, sessionDir);
		const header = newHeader(targetCwd, { parentSession: source, ...options });
		const fork = new SessionManager(header, directory, fileFor(header, directory), session.entries);
		fork.create();
		return fork;
	}

	/** File of the project's session with exactly this id. */
	static findById(cwd: string, id: string, sessionDir?: string): string | undefined {
		return fileOfId(cwd, sessionDirectory(cwd, sessionDir), id);
	}

	/** Sessions of a project, the one with the latest activity first. */
	static async list(cwd: string, sessionDir?: string): Promise<SessionInfo[]> {
		return listProject(cwd, sessionDirectory(cwd, sessionDir));
	}

	/** Sessions of all projects, or all in one directory. */
	static async listAll(sessionDir?: unknown): Promise<SessionInfo[]> {
		return listEverything(typeof sessionDir === "string" ? sessionDir : undefined);
	}

	/** Where a session that is started on this manager keeps its conversation, as the host wants to know it. */
	place(): { kind: "file"; path: string } | { kind: "memory"; id: string; entries: SessionEntry[] } {
		if (this.file === undefined) return { kind: "memory", id: this.header.id, entries: this.getBranch() };
		// What is only here so far would be lost to the host, which reads the file.
		if (!this.written && this.entries.length > 0) this.create();
		return { kind: "file", path: this.file };
	}

	/** From now on the host keeps the session: readers show its entries, and what is appended is appended there. */
	attach(view: SessionManagerView, append: (draft: Draft) => string): void {
		const readers = Object.fromEntries(
			Object.entries(view).filter(
				([name]) => name.startsWith("get") || name.startsWith("build") || name === "isPersisted",
			),
		);
		Object.assign(this, readers, {
			attached: true,
			append,
			existing: (id: string) => {
				if (view.getEntry(id) === undefined) throw new Error(`Entry ${id} not found`);
			},
			branch: (targetId: string) => void append({ type: "leaf", targetId }),
			resetLeaf: () => void append({ type: "leaf", targetId: null }),
		});
	}

	private index(entry: SessionEntry): void {
		this.entries.push(entry);
		this.byId.set(entry.id, entry);
		this.leafId = entry.id;
		if (entry.type !== "label" || typeof entry.targetId !== "string") return;
		const { targetId, label, timestamp } = entry;
		if (typeof label === "string" && label !== "") this.labels.set(targetId, { label, timestamp });
		else this.labels.delete(targetId);
	}

	/** Creates the file with everything there is, and maybe one entry more. */
	private create(last?: SessionEntry): void {
		if (this.file === undefined) return;
		createSessionFile(this.file, sessionText([this.header, ...this.entries, ...(last === undefined ? [] : [last])]));
		this.written = true;
	}

	private save(entry: SessionEntry): void {
		if (this.file === undefined || !(this.written || isConversation(entry))) return;
		if (this.written) {
			try {
				appendLine(this.file, JSON.stringify(entry));
				return;
			} catch (error) {
				// Deleted meanwhile: everything is still here.
				if ((error as { code?: string }).code !== "ENOENT") throw error;
			}
		}
		this.create(entry);
	}

	private append(draft: Draft, id = newEntryId(this.byId)): string {
		const { type, ...members } = draft;
		const entry: SessionEntry = { type, id, parentId: this.leafId, timestamp: new Date().toISOString(), ...members };
		// Saved first: an entry that is not in the file must not become the parent of one that is.
		this.save(entry);
		this.index(entry);
		return id;
	}

	getCwd = (): string => this.cwd;
	getSessionDir = (): string => this.directory;
	getSessionId = (): string => this.header.id;
	getSessionFile = (): string | undefined => this.file;
	isPersisted = (): boolean => this.file !== undefined;
	getHeader = (): SessionHeader => this.header;
	getEntries = (): SessionEntry[] => [...this.entries];
	getEntryCount = (): number => this.entries.length;
	getEntry = (id: string): SessionEntry | undefined => this.byId.get(id);
	getChildren = (parentId: string): SessionEntry[] => this.entries.filter((entry) => entry.parentId === parentId);
	getLeafId = (): string | null => this.leafId;
	getLeafEntry = (): SessionEntry | undefined => (this.leafId === null ? undefined : this.byId.get(this.leafId));
	getBranch = (fromId?: string): SessionEntry[] => branchTo(this.entries, fromId ?? this.leafId);
	getTree = (): SessionTreeNode[] => treeOf(this.entries, (id) => this.labels.get(id));
	getSessionName = (): string | undefined => nameOf(this.header, this.entries);
	getLabel = (id: string): string | undefined => this.labels.get(id)?.label;
	buildContextEntries = (): SessionEntry[] => buildContextEntries(this.entries, this.leafId);
	buildSessionContext = () => buildSessionContext(this.entries, this.leafId);
	buildSessionProjection = () => buildSessionProjection(this.entries, this.leafId);

	/** A message of the conversation. One of role `custom` becomes a `custom_message` entry (sessions §2). */
	appendMessage(message: unknown): string {
		if (!isRecord(message) || message.role !== "custom") return this.append({ type: "message", message });
		const { customType, content, display, details } = message;
		return this.appendCustomMessageEntry(String(customType), content, display === true, details);
	}

	appendThinkingLevelChange = (thinkingLevel: string): string =>
		this.append({ type: "thinking_level_change", thinkingLevel });
	appendModelChange = (provider: string, modelId: string): string =>
		this.append({ type: "model_change", provider, modelId });
	appendCustomEntry = (customType: string, data?: unknown): string => this.append({ type: "custom", customType, data });

	/** Usage of a request that is no part of the conversation; returns the entry. */
	appendUsage(kind: string, provider: string, model: string, usage: unknown, note?: string): SessionEntry | undefined {
		return this.getEntry(this.append({ type: "usage", kind, provider, model, usage, ...(note ? { note } : {}) }));
	}

	appendCustomMessageEntry(customType: string, content: unknown, display: boolean, details?: unknown): string {
		return this.append({ type: "custom_message", customType, content: content ?? [], display, details });
	}

	appendSessionInfo(name: string): string {
		return this.append({ type: "session_info", name: name.replace(/[\r\n]+/g, " ").trim() });
	}

	/** @throws when there is no such entry */
	appendLabelChange(targetId: string, label: string | undefined): string {
		this.existing(targetId);
		return this.append({ type: "label", targetId, label: label || undefined });
	}

	/** `firstKeptEntryId: null` keeps nothing before the summary. */
	appendCompaction(
		summary: string,
		firstKeptEntryId: string | null,
		tokensBefore: number,
		details?: unknown,
		fromHook?: boolean,
		usage?: unknown,
	): string {
		const id = newEntryId(this.byId);
		const prompt = getCurrentSystemMessage(this.buildSessionProjection().messages as never);
		return this.append(
			{
				type: "compaction",
				summary,
				firstKeptEntryId: firstKeptEntryId ?? id,
				tokensBefore,
				details,
				usage,
				fromHook,
				...(prompt === undefined ? {} : { systemMessage: { ...prompt, timestamp: Date.now() } }),
			},
			id,
		);
	}

	/**
	 * Replaces the content of an earlier entry for the model, or hides it (`null`).
	 * @throws when the entry does not exist, is on another branch, or has no content of this kind
	 */
	appendContextEdit(targetId: string, replacement: { content: unknown } | null): string {
		const content = isRecord(replacement) ? replacement.content : undefined;
		if (replacement !== null && typeof content !== "string" && !Array.isArray(content)) {
			throw new Error("Context edit replacement must be null or contain string/array content");
		}
		this.existing(targetId);
		const target = this.getBranch().find(({ id }) => id === targetId);
		if (target === undefined) throw new Error(`Entry ${targetId} is not on the active branch`);
		const role = target.type === "message" ? (target.message as { role?: string } | undefined)?.role : undefined;
		const inBlocks = role === "assistant" || role === "toolResult";
		if (target.type !== "custom_message" && role !== "user" && !inBlocks) {
			throw new Error(`Entry ${targetId} does not contribute editable model content`);
		}
		const stored =
			inBlocks && typeof content === "string" ? { content: [{ type: "text", text: content }] } : replacement;
		return this.append({ type: "context_edit", targetId, replacement: stored });
	}

	/** Moves the leaf; the next entry becomes a sibling of what follows it. */
	branch(id: string): void {
		this.existing(id);
		this.leafId = id;
	}

	/** Moves before the first entry. */
	resetLeaf(): void {
		this.leafId = null;
	}

	/** Moves the leaf (`null`: before the first entry) and puts a summary of what was left there. */
	branchWithSummary(
		id: string | null,
		summary: string,
		details?: unknown,
		fromHook?: boolean,
		usage?: unknown,
	): string {
		const left = this.getLeafId();
		this.moveTo(id);
		try {
			return this.append({ type: "branch_summary", fromId: left ?? "root", summary, details, usage, fromHook });
		} catch (error) {
			this.moveTo(left);
			throw error;
		}
	}

	private moveTo(id: string | null): void {
		if (id === null) this.resetLeaf();
		else this.branch(id);
	}

	/**
	 * Goes on in a new session that holds the branch up to `leafId`; returns its file, if it has one. The old file stays as it is.
	 * @throws when there is no such entry, and when a running session uses this manager
	 */
	createBranchedSession(leafId: string): string | undefined {
		if (this.attached) throw new Error("a running session cannot be replaced by one of its branches");
		this.existing(leafId);
		const parentSession = this.file;
		const entries = copyBranch(this.getBranch(leafId), (id) => this.labels.get(id));
		const header = newHeader(this.cwd, parentSession === undefined ? {} : { parentSession });
		const file = parentSession === undefined ? undefined : fileFor(header, this.directory);
		const written = file !== undefined && entries.some(isConversation);
		if (written) createSessionFile(file, sessionText([header, ...entries]));
		Object.assign(this, { header, file, written, entries: [], byId: new Map(), labels: new Map(), leafId: null });
		for (const entry of entries) this.index(entry);
		return file;
	}

	private existing(id: string): void {
		if (!this.byId.has(id)) throw new Error(`Entry ${id} not found`);
	}
}
