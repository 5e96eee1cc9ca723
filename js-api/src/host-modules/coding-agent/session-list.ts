// Which sessions there are, and what a list shows of each (sessions §1.1, §6). Reads only; what cannot be read is left out.

import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { expandHome, getAgentDir } from "../host-info.ts";
import type { SessionEntry } from "./session-entries.ts";
import { loadSession, readHeader, type StoredHeader } from "./session-files.ts";

export interface SessionInfo {
	path: string;
	id: string;
	/** Empty when the file does not say. */
	cwd: string;
	name?: string;
	parentSessionPath?: string;
	created: Date;
	/** Of the last message of the user or a model; else the session's; else the file's. */
	modified: Date;
	messageCount: number;
	firstMessage: string;
	allMessagesText: string;
}

function directoryName(cwd: string): string {
	const name = resolve(cwd)
		.replace(/^[/\\]/, "")
		.replace(/[/\\:]/g, "-");
	return `--${name}--`;
}

/** Directory of a project's sessions: the one that is given, else the project's below the agent directory. */
export function sessionDirectory(cwd: string, sessionDir: string | undefined): string {
	return sessionDir === undefined
		? join(getAgentDir(), "sessions", directoryName(cwd))
		: resolve(expandHome(sessionDir));
}

/** Whether a session in such a directory is one of the project's. */
function belongsTo(header: StoredHeader, cwd: string, directory: string): boolean {
	const own = resolve(cwd);
	const isFlat = directory !== sessionDirectory(cwd, undefined);
	if (typeof header.cwd !== "string" || header.cwd === "") return !isFlat;
	const isOurs = resolve(header.cwd) === own;
	if (isFlat) return isOurs;
	// `/a-b` and `/a/b` share a directory. A file that somebody moved here from elsewhere counts as ours.
	return isOurs || directoryName(header.cwd) !== directoryName(own);
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

function projectFiles(cwd: string, directory: string): { path: string; header: StoredHeader }[] {
	return sessionFiles(directory).flatMap((path) => {
		const header = readHeader(path);
		return header !== undefined && belongsTo(header, cwd, directory) ? [{ path, header }] : [];
	});
}

/** The file of a project that was written last. */
export function newestFile(cwd: string, directory: string): string | undefined {
	const found = projectFiles(cwd, directory).map(({ path }) => ({ path, time: statSync(path).mtimeMs }));
	// File names start with a timestamp, which decides between equal times.
	return found.sort((a, b) => b.time - a.time || (a.path < b.path ? 1 : -1))[0]?.path;
}

/** The file of a project's session with exactly this id. */
export function fileOfId(cwd: string, directory: string, id: string): string | undefined {
	return projectFiles(cwd, directory).find(({ header }) => header.id === id)?.path;
}

/** Sessions of a project, the one with the latest activity first. */
export function listProject(cwd: string, directory: string): SessionInfo[] {
	return infosOf(projectFiles(cwd, directory).map(({ path }) => path));
}

/** Sessions of all projects, or all in one directory. */
export function listEverything(sessionDir: string | undefined): SessionInfo[] {
	if (sessionDir !== undefined) return infosOf(sessionFiles(resolve(expandHome(sessionDir))));
	const root = join(getAgentDir(), "sessions");
	if (!existsSync(root)) return [];
	return infosOf(readdirSync(root).flatMap((name) => sessionFiles(join(root, name))));
}

function infosOf(paths: readonly string[]): SessionInfo[] {
	return paths
		.map(infoOf)
		.filter((info) => info !== undefined)
		.sort((a, b) => b.modified.getTime() - a.modified.getTime() || (a.path < b.path ? -1 : 1));
}

function textOf(content: unknown): string {
	if (typeof content === "string") return content;
	if (!Array.isArray(content)) return "";
	return content.flatMap((block) => (block?.type === "text" ? [String(block.text)] : [])).join(" ");
}

/** The name that was given last, on whichever branch; xcsh keeps it in the header. An empty name is none. */
export function nameOf(header: { title?: unknown }, entries: readonly SessionEntry[]): string | undefined {
	const named = entries.findLast(({ type }) => type === "session_info");
	const name = named === undefined ? header.title : named.name;
	return typeof name === "string" && name.trim() !== "" ? name.trim() : undefined;
}

function timeOf(entry: SessionEntry): number {
	const { timestamp } = entry.message as { timestamp?: unknown };
	return typeof timestamp === "number" && timestamp > 0 ? timestamp : Date.parse(entry.timestamp);
}

function infoOf(path: string): SessionInfo | undefined {
	try {
		const session = loadSession(path);
		if (session === undefined) return undefined;
		const { header, entries } = session;
		const messages = entries.filter(({ type, message }) => type === "message" && message);
		const role = (entry: SessionEntry) => (entry.message as { role?: string }).role;
		const text = (entry: SessionEntry) => textOf((entry.message as { content?: unknown }).content);
		const talk = messages.filter((entry) => role(entry) === "user" || role(entry) === "assistant");
		const activity = Math.max(...talk.map(timeOf).filter((time) => time > 0));
		const created = new Date(header.timestamp);
		const started = Number.isNaN(created.getTime()) ? statSync(path).mtime : created;
		const name = nameOf(header, entries);
		const first = talk.find((entry) => role(entry) === "user" && text(entry).trim() !== "");
		return {
			path,
			id: header.id,
			cwd: header.cwd ?? "",
			...(name === undefined ? {} : { name }),
			...(header.parentSession === undefined ? {} : { parentSessionPath: header.parentSession }),
			created,
			modified: Number.isFinite(activity) ? new Date(activity) : started,
			messageCount: messages.length,
			firstMessage: first === undefined ? "(no messages)" : text(first),
			allMessagesText: talk
				.map(text)
				.filter((part) => part !== "")
				.join(" "),
		};
	} catch {
		// Unreadable files are not sessions to the reader of a list.
		return undefined;
	}
}
