// Session files from an extension's side: reading, listing and writing sessions other than the running one (sessions §1, §3, §5, §6).
// The running session belongs to the host; `ctx.sessionManager` is the way to it. Opening its file here gives a reader's copy.

import { appendFileSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { SessionManagerView } from "../../api/session-manager.ts";
import { getAgentDir } from "../host-info.ts";
import { readText } from "./regular-file.ts";
import {
	branchTo,
	buildSessionContext,
	buildSessionProjection,
	CURRENT_SESSION_VERSION,
	type FileEntry,
	migrateSessionEntries,
	parseSessionEntries,
	type SessionEntry,
} from "./session-entries.ts";

export interface SessionHeader {
	type: "session";
	version: number;
	id: string;
	timestamp: string;
	cwd: string;
	parentSession?: string;
	[member: string]: unknown;
}

export interface SessionInfo {
	path: string;
	id: string;
	cwd: string;
	name?: string;
	parentSessionPath?: string;
	created: Date;
	modified: Date;
	messageCount: number;
	firstMessage: string;
	allMessagesText: string;
}

export interface NewSessionOptions {
	id?: string;
	parentSession?: string;
}

type Draft = { type: string; [member: string]: unknown };

/** Directory of a project's sessions below the agent directory. */
function defaultDirectory(cwd: string): string {
	const name = resolve(cwd)
		.replace(/^[/\\]/, "")
		.replace(/[/\\:]/g, "-");
	return join(getAgentDir(), "sessions", `--${name}--`);
}

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

function textOf(content: unknown): string {
	if (typeof content === "string") return content;
	if (!Array.isArray(content)) return "";
	return content.map((block) => (block?.type === "text" ? String(block.text) : "")).join(" ");
}

export class SessionManager {
	private header: SessionHeader;
	private entries: SessionEntry[] = [];
	private byId = new Map<string, SessionEntry>();
	private leafId: string | null = null;
	private file: string | undefined;
	/** False until the first write of a new session: empty sessions leave no file. */
	private written: boolean;
	private readonly directory: string;

	private constructor(header: SessionHeader, directory: string, file: string | undefined, entries: SessionEntry[]) {
		this.header = header;
		this.directory = directory;
		this.file = file;
		this.written = file !== undefined && existsSync(file);
		for (const entry of entries) this.index(entry);
	}

	/** A new session of a project. Its file appears with the first response of a model. */
	static create(cwd: string, sessionDir?: string, options: NewSessionOptions = {}): SessionManager {
		const directory = sessionDir ?? defaultDirectory(cwd);
		const header = newHeader(cwd, options);
		const stamp = header.timestamp.replace(/[:.]/g, "-");
		return new SessionManager(header, directory, join(directory, `${stamp}_${header.id}.jsonl`), []);
	}

	/**
	 * Opens a session file; one that does not exist yet becomes a new session bound to that path.
	 * @throws when the file is not a session
	 */
	static open(path: string, sessionDir?: string, cwdOverride?: string): SessionManager {
		const file = resolve(path);
		const directory = sessionDir ?? dirname(file);
		if (!existsSync(file)) return new SessionManager(newHeader(cwdOverride ?? process.cwd(), {}), directory, file, []);
		const content = readText(file);
		if (content === "") {
			const manager = new SessionManager(newHeader(cwdOverride ?? process.cwd(), {}), directory, file, []);
			manager.rewrite();
			return manager;
		}
		const lines = parseSessionEntries(content);
		const header = headerOf(lines);
		if (header === undefined) throw new Error(`Session file is not a valid pi session: ${file}`);
		const older = (typeof header.version === "number" ? header.version : 1) < CURRENT_SESSION_VERSION;
		if (older) migrateSessionEntries(lines);
		const manager = new SessionManager(
			{ ...header, cwd: cwdOverride ?? header.cwd ?? process.cwd() },
			directory,
			file,
			lines.slice(1) as SessionEntry[],
		);
		if (older) manager.rewrite();
		else if (!content.endsWith("\n")) appendFileSync(file, "\n");
		return manager;
	}

	/** The session that was changed last, else a new one. */
	static continueRecent(cwd: string, sessionDir?: string): SessionManager {
		const directory = sessionDir ?? defaultDirectory(cwd);
		const newest = sessionFiles(directory)
			.map((path) => ({ path, time: statSync(path).mtimeMs }))
			.sort((a, b) => b.time - a.time)
			.find(({ path }) => {
				const header = readHeader(path);
				return header !== undefined && (sessionDir === undefined || resolve(header.cwd ?? "") === resolve(cwd));
			});
		return newest === undefined ? SessionManager.create(cwd, sessionDir) : SessionManager.open(newest.path, sessionDir);
	}

	/** A session without a file. */
	static inMemory(cwd: string = process.cwd()): SessionManager {
		return new SessionManager(newHeader(cwd, {}), "", undefined, []);
	}

	/** Copies all entries of a session into a new one of another project. */
	static forkFrom(sourcePath: string, targetCwd: string, sessionDir?: string): SessionManager {
		const source = SessionManager.open(sourcePath);
		const fork = SessionManager.create(targetCwd, sessionDir, { parentSession: resolve(sourcePath) });
		for (const entry of source.entries) fork.index(structuredClone(entry));
		fork.rewrite();
		return fork;
	}

	/** Sessions of a project, the one with the latest activity first. */
	static async list(cwd: string, sessionDir?: string): Promise<SessionInfo[]> {
		const found = listFiles(sessionFiles(sessionDir ?? defaultDirectory(cwd)));
		return sessionDir === undefined ? found : found.filter((info) => resolve(info.cwd) === resolve(cwd));
	}

	/** Sessions of all projects. */
	static async listAll(): Promise<SessionInfo[]> {
		const root = join(getAgentDir(), "sessions");
		if (!existsSync(root)) return [];
		return listFiles(readdirSync(root).flatMap((name) => sessionFiles(join(root, name))));
	}

	/** Where a session that is started on this manager keeps its conversation, as the host wants to know it. */
	place(): { kind: "file"; path: string } | { kind: "memory"; id: string; entries: SessionEntry[] } {
		if (this.file === undefined) return { kind: "memory", id: this.header.id, entries: this.getBranch() };
		// What is only here so far would be lost to the host, which reads the file.
		if (!this.written && this.entries.length > 0) this.rewrite();
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
	}

	private rewrite(): void {
		if (this.file === undefined) return;
		mkdirSync(dirname(this.file), { recursive: true });
		writeFileSync(this.file, [this.header, ...this.entries].map((line) => `${JSON.stringify(line)}\n`).join(""));
		this.written = true;
	}

	private append(draft: Draft): string {
		const { type, ...members } = draft;
		const entry: SessionEntry = {
			type,
			id: this.newEntryId(),
			parentId: this.leafId,
			timestamp: new Date().toISOString(),
			...members,
		};
		this.index(entry);
		if (this.file === undefined) return entry.id;
		if (this.written) appendFileSync(this.file, `${JSON.stringify(entry)}\n`);
		else if (this.entries.some((e) => (e.message as { role?: string } | undefined)?.role === "assistant"))
			this.rewrite();
		return entry.id;
	}

	private newEntryId(): string {
		for (let attempt = 0; attempt < 100; attempt++) {
			const id = crypto.randomUUID().slice(0, 8);
			if (!this.byId.has(id)) return id;
		}
		return crypto.randomUUID();
	}

	getCwd = (): string => this.header.cwd;
	getSessionDir = (): string => this.directory;
	getSessionId = (): string => this.header.id;
	getSessionFile = (): string | undefined => this.file;
	isPersisted = (): boolean => this.file !== undefined;
	getHeader = (): SessionHeader => this.header;
	getEntries = (): SessionEntry[] => [...this.entries];
	getEntry = (id: string): SessionEntry | undefined => this.byId.get(id);
	getChildren = (parentId: string): SessionEntry[] => this.entries.filter((entry) => entry.parentId === parentId);
	getLeafId = (): string | null => this.leafId;
	getLeafEntry = (): SessionEntry | undefined => (this.leafId === null ? undefined : this.byId.get(this.leafId));
	getBranch = (fromId?: string): SessionEntry[] => branchTo(this.entries, fromId ?? this.leafId);
	buildSessionContext = () => buildSessionContext(this.entries, this.leafId);
	buildSessionProjection = () => buildSessionProjection(this.entries, this.leafId);

	getSessionName(): string | undefined {
		const entry = this.entries.findLast(({ type }) => type === "session_info");
		return typeof entry?.name === "string" && entry.name !== "" ? entry.name : undefined;
	}

	getLabel(id: string): string | undefined {
		const entry = this.entries.findLast(({ type, targetId }) => type === "label" && targetId === id);
		return typeof entry?.label === "string" && entry.label !== "" ? entry.label : undefined;
	}

	appendMessage = (message: unknown): string => this.append({ type: "message", message });
	appendThinkingLevelChange = (thinkingLevel: string): string =>
		this.append({ type: "thinking_level_change", thinkingLevel });
	appendModelChange = (provider: string, modelId: string): string =>
		this.append({ type: "model_change", provider, modelId });
	appendCustomEntry = (customType: string, data?: unknown): string => this.append({ type: "custom", customType, data });

	appendCustomMessageEntry(customType: string, content: unknown, display: boolean, details?: unknown): string {
		return this.append({ type: "custom_message", customType, content: content ?? [], display, details });
	}

	appendSessionInfo(name: string): string {
		return this.append({ type: "session_info", name: name.replace(/[\r\n]+/g, " ").trim() });
	}

	/** @throws when there is no such entry */
	appendLabelChange(targetId: string, label: string | undefined): string {
		this.existing(targetId);
		return this.append({ type: "label", targetId, label });
	}

	appendCompaction(
		summary: string,
		firstKeptEntryId: string,
		tokensBefore: number,
		details?: unknown,
		fromHook?: boolean,
	): string {
		return this.append({ type: "compaction", summary, firstKeptEntryId, tokensBefore, details, fromHook });
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

	private existing(id: string): void {
		if (!this.byId.has(id)) throw new Error(`Entry ${id} not found`);
	}
}

function newHeader(cwd: string, options: NewSessionOptions): SessionHeader {
	return {
		type: "session",
		version: CURRENT_SESSION_VERSION,
		id: options.id ?? newSessionId(),
		timestamp: new Date().toISOString(),
		cwd: resolve(cwd),
		...(options.parentSession === undefined ? {} : { parentSession: options.parentSession }),
	};
}

/** A header as found in a file: old ones have no working directory. */
interface StoredHeader {
	type: "session";
	version: number;
	id: string;
	timestamp: string;
	cwd?: string;
	parentSession?: string;
}

function headerOf(lines: readonly FileEntry[]): StoredHeader | undefined {
	const [first] = lines;
	return first?.type === "session" && typeof first.id === "string" ? (first as unknown as StoredHeader) : undefined;
}

function readHeader(path: string): ReturnType<typeof headerOf> {
	try {
		const content = readText(path);
		return headerOf(parseSessionEntries(content.slice(0, content.indexOf("\n") + 1 || undefined)));
	} catch {
		return undefined;
	}
}

function sessionFiles(directory: string): string[] {
	try {
		return readdirSync(directory)
			.filter((name) => name.endsWith(".jsonl"))
			.map((name) => join(directory, name));
	} catch {
		return [];
	}
}

function listFiles(paths: readonly string[]): SessionInfo[] {
	return paths
		.map(describe)
		.filter((info) => info !== undefined)
		.sort((a, b) => b.modified.getTime() - a.modified.getTime());
}

function describe(path: string): SessionInfo | undefined {
	try {
		const lines = parseSessionEntries(readText(path));
		const header = headerOf(lines);
		if (header === undefined) return undefined;
		const messages = lines.flatMap((entry) =>
			entry.type === "message" ? [entry.message as { role?: string; content?: unknown; timestamp?: unknown }] : [],
		);
		const talk = messages.filter(({ role }) => role === "user" || role === "assistant");
		const last = talk.findLast(({ timestamp }) => typeof timestamp === "number");
		const created = new Date(header.timestamp);
		const name = lines.findLast(({ type }) => type === "session_info")?.name;
		const firstUser = messages.find(({ role, content }) => role === "user" && textOf(content).trim() !== "");
		return {
			path,
			id: header.id,
			cwd: header.cwd ?? "",
			...(typeof name === "string" && name !== "" ? { name } : {}),
			...(header.parentSession === undefined ? {} : { parentSessionPath: header.parentSession }),
			created,
			modified:
				last === undefined
					? Number.isNaN(created.getTime())
						? statSync(path).mtime
						: created
					: new Date(last.timestamp as number),
			messageCount: messages.length,
			firstMessage: firstUser === undefined ? "(no messages)" : textOf(firstUser.content),
			allMessagesText: talk.map(({ content }) => textOf(content)).join(" "),
		};
	} catch {
		// Unreadable files are not sessions to the reader of a list.
		return undefined;
	}
}
