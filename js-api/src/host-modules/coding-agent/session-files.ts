// Session files on disk: loading, migrating, creating and extending them (sessions §1.1, §3). Knows lines; the tree is the manager's.
// The host's own (runtime/agent/src/session) follows the same rules and locks its files besides.

import {
	closeSync,
	constants,
	copyFileSync,
	existsSync,
	fchmodSync,
	fstatSync,
	fsyncSync,
	ftruncateSync,
	mkdirSync,
	openSync,
	readFileSync,
	readSync,
	realpathSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
	writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { isRecord } from "../../api/json.ts";
import {
	CURRENT_SESSION_VERSION,
	type FileEntry,
	migrateSessionEntries,
	type SessionEntry,
} from "./session-entries.ts";

/** A header as found in a file: old ones have neither version nor working directory, xcsh's have a title. */
export interface StoredHeader {
	type: "session";
	version?: number;
	id: string;
	timestamp: string;
	cwd?: string;
	parentSession?: string;
	title?: string;
	[member: string]: unknown;
}

export interface LoadedSession {
	header: StoredHeader;
	entries: SessionEntry[];
	/** Whether the file ends in a line end. */
	ended: boolean;
	/** The text in the current version, when the file has an older one. */
	migrated: string | undefined;
	/** Version of the file. */
	version: number;
	/** Whether bytes that are no text were replaced. */
	lossy: boolean;
}

/** Conversations are nobody else's business: what is created here is private to the user. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/** A header is looked for in this much of a file, in bytes. */
const MAX_HEADER_BYTES = 1024 * 1024;
const BYTE_ORDER_MARK = /^\ufeff/;

interface Line {
	text: string;
	/** `undefined` for a line that is not JSON. */
	value: unknown;
}

function linesOf(content: string): Line[] {
	return content
		.replace(BYTE_ORDER_MARK, "")
		.split("\n")
		.map((text) => {
			try {
				return { text, value: text.trim() === "" ? undefined : JSON.parse(text) };
			} catch {
				return { text, value: undefined };
			}
		});
}

/** The header, which is the first line that is JSON; `undefined` when that is something else. */
function headerOf(lines: readonly Line[]): StoredHeader | undefined {
	const first = lines.find(({ value }) => value !== undefined)?.value;
	return isRecord(first) && first.type === "session" && typeof first.id === "string"
		? (first as unknown as StoredHeader)
		: undefined;
}

/** Lines as they were, but those that a migration changed. */
function migratedText(lines: readonly Line[], before: readonly (string | undefined)[]): string {
	const texts = lines.map(({ text, value }, at) => {
		const now = before[at] === undefined ? undefined : JSON.stringify(value);
		return now === undefined || now === before[at] ? text : now;
	});
	if (texts.at(-1) !== "") texts.push("");
	return texts.join("\n");
}

/**
 * Reads a file and writes nothing; `undefined` for an empty one.
 * @throws when it is no session or cannot be read; pipes and devices are refused, because reading one could wait for ever
 */
export function loadSession(file: string): LoadedSession | undefined {
	if (!statSync(file).isFile()) throw new Error(`Session path is not a regular file: ${file}`);
	const bytes = readFileSync(file);
	if (bytes.length === 0) return undefined;
	const content = bytes.toString("utf8");
	const lines = linesOf(content);
	const header = headerOf(lines);
	if (header === undefined) throw new Error(`Session file is not a valid pi session: ${file}`);
	const version = typeof header.version === "number" ? header.version : 1;
	const objects = lines.flatMap(({ value }) => (isRecord(value) ? [value as FileEntry] : []));
	let migrated: string | undefined;
	if (version < CURRENT_SESSION_VERSION) {
		const before = lines.map(({ value }) => (isRecord(value) ? JSON.stringify(value) : undefined));
		migrateSessionEntries(objects);
		migrated = migratedText(lines, before);
	}
	// A line without an id is no entry: nothing could be its child, so it must not become the leaf.
	const entries = objects.filter(({ type, id }) => type !== "session" && typeof id === "string") as SessionEntry[];
	const lossy = migrated !== undefined && !Buffer.from(content).equals(bytes);
	return { header, entries, ended: content.endsWith("\n"), migrated, version, lossy };
}

/** The header of a file, if it stands in the first mebibyte; `undefined` for everything that is no session. */
export function readHeader(file: string): StoredHeader | undefined {
	try {
		if (!statSync(file).isFile()) return undefined;
		const fd = openSync(file, "r");
		try {
			for (let size = 4096; ; size = Math.min(size * 16, MAX_HEADER_BYTES)) {
				const buffer = Buffer.alloc(size);
				const read = readSync(fd, buffer, 0, size, 0);
				const text = buffer.toString("utf8", 0, read);
				const whole = read < size ? text : text.slice(0, text.lastIndexOf("\n") + 1);
				const lines = linesOf(whole);
				if (lines.some(({ value }) => value !== undefined)) return headerOf(lines);
				if (read < size || size === MAX_HEADER_BYTES) return undefined;
			}
		} finally {
			closeSync(fd);
		}
	} catch {
		return undefined;
	}
}

/** Text of a whole file. */
export function sessionText(lines: readonly object[]): string {
	return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/**
 * Creates a file, whole or not at all, and its directory.
 * @throws when it exists or cannot be written
 */
export function createSessionFile(file: string, text: string): void {
	mkdirSync(dirname(file), { recursive: true, mode: DIRECTORY_MODE });
	if (existsSync(file)) throw new Error(`Session file already exists: ${file}`);
	writeNew(file, text);
}

function writeNew(file: string, text: string, finish: (fd: number) => void = () => {}): void {
	const fd = openSync(file, "wx", FILE_MODE);
	try {
		writeFileSync(fd, text);
		finish(fd);
	} catch (error) {
		// Ours, and worthless.
		rmSync(file, { force: true });
		throw error;
	} finally {
		closeSync(fd);
	}
}

/**
 * Appends one line to an existing file; one that ends inside a line gets its line end first.
 * @throws when the file is gone (`ENOENT`) or cannot be written; it is as it was then
 */
export function appendLine(file: string, line: string): void {
	const fd = openSync(file, constants.O_RDWR | constants.O_APPEND);
	try {
		const { size } = fstatSync(fd);
		const bytes = Buffer.from(`${endsInLine(fd, size) ? "" : "\n"}${line}\n`);
		let written = 0;
		try {
			while (written < bytes.length) written += writeSync(fd, bytes, written, bytes.length - written, null);
		} catch (error) {
			if (written > 0) ftruncateSync(fd, size);
			throw error;
		}
	} finally {
		closeSync(fd);
	}
}

function endsInLine(fd: number, size: number): boolean {
	if (size === 0) return true;
	const last = Buffer.alloc(1);
	readSync(fd, last, 0, 1, size - 1);
	return last[0] === 0x0a;
}

/** Gives a file its last line end, so that the next line starts on its own. One that may only be read stays as it is: an append sees to it. */
export function endLine(file: string): void {
	try {
		const fd = openSync(file, constants.O_WRONLY | constants.O_APPEND);
		try {
			writeSync(fd, "\n");
		} finally {
			closeSync(fd);
		}
	} catch {
		// See above.
	}
}

/** Replaces a file of an older version at once or not at all; keeps a copy when the new text does not hold everything. */
export function replaceMigrated(file: string, session: LoadedSession): void {
	// A link must go on pointing at the file.
	const real = realpathSync(file);
	if (session.lossy) backUp(real, session.version);
	const temporary = join(dirname(real), `.session-${crypto.randomUUID()}.tmp`);
	writeNew(temporary, session.migrated ?? "", (fd) => {
		fchmodSync(fd, statSync(real).mode & 0o7777);
		fsyncSync(fd);
	});
	try {
		renameSync(temporary, real);
	} catch (error) {
		rmSync(temporary, { force: true });
		throw error;
	}
}

function backUp(file: string, version: number): void {
	for (let n = 0; n < 1000; n++) {
		const copy = `${file}.v${version}${n === 0 ? "" : `-${n}`}.bak`;
		if (existsSync(copy)) continue;
		copyFileSync(file, copy, constants.COPYFILE_EXCL);
		return;
	}
	throw new Error(`a thousand copies of ${file} exist already`);
}
