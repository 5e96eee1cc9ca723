// Session files as extensions read and write them (sessions §1 to §6).

import assert from "node:assert/strict";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { treeOf } from "../../src/api/session-tree.ts";
import * as sdk from "../../src/host-modules/coding-agent/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: entries of all kinds, damaged ones too.
type Any = any;

const scratch = mkdtempSync(path.join(tmpdir(), "pier-sessions-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
const { SessionManager } = sdk;

const user = (content: string, timestamp = 1) => ({ role: "user", content, timestamp });
const answer = (text: string, timestamp = 2) => ({
	role: "assistant",
	content: [{ type: "text", text }],
	provider: "p",
	model: "m",
	timestamp,
});
const HEADER = { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/project" };
const message = (id: string, parentId: string | null, content: object) => ({
	type: "message",
	id,
	parentId,
	timestamp: "2026-01-01T00:00:01.000Z",
	message: content,
});

let written = 0;
function fileOf(lines: (object | string)[], end = "\n"): string {
	const file = path.join(scratch, `written-${written++}.jsonl`);
	const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
	writeFileSync(file, texts.join("\n") + end);
	return file;
}

const mode = (file: string) => (statSync(file).mode & 0o777).toString(8);
const linesOf = (file: string): Any[] => sdk.parseSessionEntries(readFileSync(file, "utf8"));
const roles = (manager: Any) => manager.buildSessionContext().messages.map(({ role }: Any) => role);

test("sessions: writing, reading back, branches and lists", async () => {
	const directory = path.join(scratch, "sessions");
	const manager = SessionManager.create("/project/here", directory);
	const file = manager.getSessionFile() ?? "";
	assert.match(path.basename(file), /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_[0-9a-f]{8}-[0-9a-f]{4}-7/);
	manager.appendModelChange("p", "m");
	assert.ok(!existsSync(file), "a session without a message has no file");
	const first = manager.appendMessage({ role: "user", content: [{ type: "text", text: "question" }], timestamp: 1 });
	assert.equal(manager.getLeafEntry()?.id, first);
	assert.ok(existsSync(file), "the first message of the user creates the file");
	manager.appendMessage({ role: "assistant", content: [], provider: "p", model: "m", timestamp: 2 });
	manager.appendCustomEntry("mine", { a: 1 });
	manager.appendSessionInfo("My\nsession");
	manager.branch(first);
	manager.appendCustomMessageEntry("note", "on the side", true);

	const opened = SessionManager.open(file);
	assert.deepEqual(opened.getEntries(), JSON.parse(JSON.stringify(manager.getEntries())));
	assert.deepEqual(
		opened.getBranch().map(({ type }) => type),
		["model_change", "message", "custom_message"],
	);
	assert.equal(opened.getSessionName(), "My session");
	assert.deepEqual(
		opened.buildSessionContext().messages.map((message) => (message as { role: string }).role),
		["user", "custom"],
	);
	const [info] = await SessionManager.list("/project/here", directory);
	assert.deepEqual(
		[info?.firstMessage, info?.name, info?.messageCount, info?.cwd],
		["question", "My session", 2, "/project/here"],
	);
	assert.deepEqual(await SessionManager.list("/project/other", directory), []);
	assert.equal(SessionManager.continueRecent("/project/here", directory).getSessionId(), manager.getSessionId());

	const broken = path.join(directory, "broken.jsonl");
	writeFileSync(broken, '{"type":"message"}\n');
	assert.throws(() => SessionManager.open(broken), /Session file is not a valid pi session: /);
	assert.equal(readFileSync(broken, "utf8"), '{"type":"message"}\n');
});

test("sessions: files of version 1 are brought up to date, a cut last line is survived", () => {
	const file = path.join(scratch, "old.jsonl");
	const lines = [
		{ type: "session", id: "s", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/project" },
		{ type: "message", timestamp: "2025-01-01T00:00:01.000Z", message: { role: "user", content: "a", timestamp: 1 } },
		{
			type: "message",
			timestamp: "2025-01-01T00:00:02.000Z",
			message: { role: "hookMessage", customType: "h", content: "b", timestamp: 2 },
		},
		{
			type: "compaction",
			timestamp: "2025-01-01T00:00:03.000Z",
			summary: "s",
			firstKeptEntryIndex: 2,
			tokensBefore: 1,
		},
	];
	writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n{"type":"mess`);
	const manager = SessionManager.open(file);
	const [user, hook, compaction] = manager.getEntries();
	assert.equal(hook?.parentId, user?.id);
	assert.equal(compaction?.firstKeptEntryId, hook?.id);
	assert.equal((hook?.message as { role: string } | undefined)?.role, "custom");
	assert.deepEqual(
		manager.buildSessionContext().messages.map((message) => (message as { role: string }).role),
		["compactionSummary", "custom"],
	);
	const reread = sdk.parseSessionEntries(readFileSync(file, "utf8"));
	assert.equal(reread[0]?.version, sdk.CURRENT_SESSION_VERSION);
	assert.equal(reread.length, 4);
});

test("sessions: files and directories are the user's alone, and stay so", () => {
	const directory = path.join(scratch, "new", "deep");
	const manager = SessionManager.create("/project", directory);
	manager.appendMessage(answer("an answer is enough, too"));
	const file = manager.getSessionFile() ?? "";
	assert.deepEqual([mode(directory), mode(file)], ["700", "600"]);
	manager.appendMessage(user("more"));
	assert.equal(mode(file), "600");
	chmodSync(file, 0o640);
	manager.appendMessage(user("more"));
	assert.equal(mode(file), "640");
});

test("sessions: an entry that could not be written is taken back, and the leaf with it", () => {
	const directory = path.join(scratch, "refusing");
	const manager = SessionManager.create("/project", directory);
	// The directory cannot be made.
	writeFileSync(directory, "a file");
	manager.appendThinkingLevelChange("low");
	const leaf = manager.getLeafId();
	assert.throws(() => manager.appendMessage(user("one")), { code: /EEXIST|ENOTDIR/ });
	assert.deepEqual([manager.getLeafId(), manager.getEntries().length], [leaf, 1]);
	rmSync(directory);
	const first = manager.appendMessage(user("one"));
	const file = manager.getSessionFile() ?? "";
	assert.equal(linesOf(file).length, 3);

	// Nor can a directory be appended to.
	const text = readFileSync(file);
	rmSync(file);
	mkdirSync(file);
	assert.throws(() => manager.appendLabelChange(first, "name"), { code: "EISDIR" });
	assert.throws(() => manager.branchWithSummary(null, "left"), { code: "EISDIR" });
	assert.deepEqual([manager.getLeafId(), manager.getEntries().length, manager.getLabel(first)], [first, 2, undefined]);
	rmSync(file, { recursive: true });
	writeFileSync(file, text);
	const second = manager.appendMessage(user("two"));
	assert.equal(manager.getEntry(second)?.parentId, first);
	assert.throws(() => manager.appendCustomEntry("no JSON", { big: 1n }), TypeError);
	assert.equal(manager.getLeafId(), second);
	assert.deepEqual(SessionManager.open(file).getEntries(), JSON.parse(JSON.stringify(manager.getEntries())));
});

test("sessions: a deleted file comes back whole, an existing one is not overwritten", () => {
	const manager = SessionManager.create("/project", path.join(scratch, "deleted"));
	manager.appendMessage(user("one"));
	const file = manager.getSessionFile() ?? "";
	rmSync(file);
	manager.appendMessage(user("two"));
	assert.equal(linesOf(file).length, 3);

	const other = SessionManager.open(path.join(scratch, "later.jsonl"));
	writeFileSync(other.getSessionFile() ?? "", "somebody else's");
	assert.throws(() => other.appendMessage(user("one")), /Session file already exists: .*later\.jsonl/);
	assert.equal(readFileSync(other.getSessionFile() ?? "", "utf8"), "somebody else's");
});

test("sessions: xcsh's title is the name until one is given", async () => {
	const lines = [{ ...HEADER, title: "From xcsh" }, message("a", null, user("q"))];
	const file = fileOf(lines);
	const manager = SessionManager.open(file);
	assert.equal(manager.getSessionName(), "From xcsh");
	const named = async () => (await SessionManager.listAll(scratch)).find((info) => info.path === file)?.name;
	assert.equal(await named(), "From xcsh");
	manager.appendSessionInfo("Mine\r\n now ");
	assert.deepEqual([manager.getSessionName(), await named()], ["Mine  now", "Mine  now"]);
	manager.appendSessionInfo("");
	assert.deepEqual([manager.getSessionName(), await named()], [undefined, undefined]);
});

test("sessions: lines that are no entries change neither the leaf nor the context", () => {
	const a = message("a", null, user("q"));
	for (const odd of ['{"x":1}', '{"type":"message","message":{}}', '{"id":7}', "[1]", "3", "nonsense", ""]) {
		const manager = SessionManager.open(fileOf([HEADER, a, odd]));
		assert.deepEqual([manager.getLeafId(), manager.getEntryCount(), roles(manager)], ["a", 1, ["user"]], odd);
	}
	assert.equal(sdk.buildSessionContext([a, { type: "x" }] as Any).messages.length, 1);
	assert.equal(sdk.buildSessionContext([a] as Any, null).messages.length, 0);
	const levels = ["high", null].map((thinkingLevel, at) => ({
		...{ type: "thinking_level_change", thinkingLevel },
		...{ id: `l${at}`, parentId: at === 0 ? null : "l0", timestamp: "t" },
	}));
	assert.equal(sdk.buildSessionContext(levels).thinkingLevel, "off");
});

test("sessions: a header is the first line that is JSON, and nothing else is written to", () => {
	const a = message("a", null, user("q"));
	assert.equal(SessionManager.open(fileOf(["", "not json", HEADER, a])).getLeafId(), "a");
	assert.equal(SessionManager.open(fileOf([`\ufeff${JSON.stringify(HEADER)}`, a])).getLeafId(), "a");
	for (const first of ["[1]", "3", "null", '{"type":"session"}', '{"type":"message","id":"x"}']) {
		const file = fileOf([first, HEADER, a], "");
		const before = readFileSync(file, "utf8");
		assert.throws(() => SessionManager.open(file), { message: `Session file is not a valid pi session: ${file}` });
		assert.equal(readFileSync(file, "utf8"), before);
	}
	assert.throws(() => SessionManager.open(scratch), { message: `Session path is not a regular file: ${scratch}` });
});

test("sessions: a cut or unfinished last line ends before the next entry", () => {
	const a = message("a", null, user("q"));
	const b = JSON.stringify(message("b", "a", answer("r")));
	const unfinished = SessionManager.open(fileOf([HEADER, a, b], ""));
	assert.equal(unfinished.getLeafId(), "b");
	const cut = SessionManager.open(fileOf([HEADER, a, b.slice(0, 40)], ""));
	for (const manager of [unfinished, cut]) {
		const file = manager.getSessionFile() ?? "";
		assert.ok(readFileSync(file, "utf8").endsWith("\n"));
		// Another writer was killed in the middle of a line.
		writeFileSync(file, '{"torn', { flag: "a" });
		const id = manager.appendMessage(user("next"));
		assert.equal(SessionManager.open(file).getLeafId(), id);
	}
	assert.ok(readFileSync(cut.getSessionFile() ?? "", "utf8").includes(b.slice(0, 40)), "nothing is removed");
});

test("sessions: an empty file gets its header at once, a missing one with the first message", () => {
	const empty = path.join(scratch, "empty.jsonl");
	writeFileSync(empty, "", { mode: 0o640 });
	const manager = SessionManager.open(empty);
	assert.deepEqual(linesOf(empty), [JSON.parse(JSON.stringify(manager.getHeader()))]);
	assert.equal(mode(empty), "640");
	const missing = SessionManager.open(path.join(scratch, "missing.jsonl"), undefined, "/elsewhere");
	assert.deepEqual([missing.getCwd(), existsSync(missing.getSessionFile() ?? "")], ["/elsewhere", false]);
});

test("sessions: a migration keeps what it does not concern, the mode and the link", () => {
	const kept = '{"type":"message", "id":"a","parentId":null,"message":{"role":"user","content":"q"}, "n":1e999}';
	const hook = { ...message("b", "a", { role: "hookMessage", content: "h" }) };
	const file = fileOf([{ type: "session", version: 2, id: "s", timestamp: "t", more: 1 }, kept, "{torn", hook], "");
	chmodSync(file, 0o640);
	const link = path.join(scratch, "link.jsonl");
	symlinkSync(file, link);
	const manager = SessionManager.open(link, undefined, "/elsewhere");
	assert.deepEqual([manager.getLeafId(), manager.getCwd()], ["b", "/elsewhere"]);
	const [header, first, second, third, end] = readFileSync(file, "utf8").split("\n");
	assert.deepEqual(JSON.parse(header ?? ""), { type: "session", version: 3, id: "s", timestamp: "t", more: 1 });
	assert.deepEqual([first, second, end], [kept, "{torn", ""]);
	assert.equal(JSON.parse(third ?? "").message.role, "custom");
	assert.equal(mode(file), "640");
	assert.ok(!existsSync(`${file}.v2.bak`));

	const lossy = fileOf([]);
	const bytes = Buffer.from(`{"type":"session","version":2,"id":"s","timestamp":"t","x":"\xff"}\n`, "latin1");
	writeFileSync(lossy, bytes);
	SessionManager.open(lossy);
	assert.deepEqual(readFileSync(`${lossy}.v2.bak`), bytes);
	assert.deepEqual(
		readdirSync(scratch).filter((name) => name.endsWith(".tmp")),
		[],
	);
});

test("sessions: a newer version is read as it is", () => {
	const file = fileOf([{ ...HEADER, version: 9 }, message("a", null, user("q"))]);
	const before = readFileSync(file, "utf8");
	assert.equal(SessionManager.open(file).getLeafId(), "a");
	assert.equal(readFileSync(file, "utf8"), before);
});

test("sessions: an index that means the header keeps nothing", () => {
	const compaction = { type: "compaction", summary: "s", firstKeptEntryIndex: 0, tokensBefore: 1 };
	const manager = SessionManager.open(fileOf([{ type: "session", id: "s", timestamp: "t" }, compaction]));
	const [entry] = manager.getEntries();
	assert.deepEqual([entry?.firstKeptEntryId, entry?.firstKeptEntryIndex], [undefined, undefined]);
});

test("sessions: ids that a file name cannot hold are refused", () => {
	for (const id of ["", "../x", "a/b", "-a", "a-", "a b", "é"]) {
		assert.throws(() => SessionManager.create("/p", scratch, { id }), /^Error: Invalid session id /, id);
	}
	assert.match(SessionManager.create("/p", scratch, { id: "A1.b-c_d" }).getSessionFile() ?? "", /_A1\.b-c_d\.jsonl$/);
});

test("sessions: custom messages are entries of their own type, empty labels remove one", () => {
	const manager = SessionManager.inMemory("/p");
	const note = manager.appendMessage({
		role: "custom",
		customType: "n",
		content: "x",
		display: true,
		details: { a: 1 },
	});
	assert.deepEqual(
		{ ...manager.getEntry(note), id: 0, timestamp: 0 },
		{
			type: "custom_message",
			id: 0,
			parentId: null,
			timestamp: 0,
			customType: "n",
			content: "x",
			display: true,
			details: { a: 1 },
		},
	);
	manager.appendLabelChange(note, "here");
	assert.equal(manager.getLabel(note), "here");
	const removed = manager.appendLabelChange(note, "");
	assert.deepEqual([manager.getLabel(note), manager.getEntry(removed)?.label], [undefined, undefined]);
	assert.equal(manager.appendUsage("warm", "p", "m", { input: 1 }, "why")?.note, "why");
});

test("sessions: a compaction keeps the prompt, and may keep nothing else", () => {
	const manager = SessionManager.inMemory("/p");
	const tool = { name: "t", description: "d", parameters: {} };
	manager.appendMessage({ role: "system", content: "one", toolsAdded: [tool], timestamp: 1 });
	manager.appendMessage({ role: "system", content: "two", sections: { a: "A" }, timestamp: 2 });
	manager.appendMessage(user("q"));
	const id = manager.appendCompaction("S", null, 9, undefined, true, { input: 1 } as Any);
	const entry = manager.getEntry(id) as Any;
	assert.deepEqual([entry.firstKeptEntryId, entry.fromHook, entry.usage], [id, true, { input: 1 }]);
	assert.deepEqual([entry.systemMessage.content, entry.systemMessage.sections], ["one\n\ntwo", { a: "A" }]);
	assert.deepEqual(entry.systemMessage.toolsAdded, [tool]);
	assert.deepEqual(roles(manager), ["system", "compactionSummary"]);
});

test("sessions: context edits are for content on the active branch", () => {
	const manager = SessionManager.inMemory("/p");
	const left = manager.appendMessage(user("left"));
	manager.resetLeaf();
	const level = manager.appendThinkingLevelChange("low");
	const reply = manager.appendMessage(answer("long"));
	manager.appendContextEdit(reply, { content: "short" });
	assert.deepEqual((manager.buildSessionContext().messages[0] as Any).content, [{ type: "text", text: "short" }]);
	manager.appendContextEdit(reply, null);
	assert.deepEqual(roles(manager), []);
	const refused: [string, Any, string][] = [
		["nope", null, "Entry nope not found"],
		[left, null, `Entry ${left} is not on the active branch`],
		[level, null, `Entry ${level} does not contribute editable model content`],
		[reply, {}, "Context edit replacement must be null or contain string/array content"],
	];
	for (const [id, replacement, text] of refused) {
		assert.throws(() => manager.appendContextEdit(id, replacement), { message: text });
	}
});

test("sessions: a branch becomes a session, its labels at the end, the old file untouched", () => {
	const manager = SessionManager.create("/project", path.join(scratch, "forks"));
	const first = manager.appendMessage(user("q1"));
	const label = manager.appendLabelChange(first, "start");
	const reply = manager.appendMessage(answer("a1"));
	manager.appendCompaction("S", label, 5);
	const last = manager.appendMessage(user("q2"));
	manager.appendMessage(answer("a2"));
	const old = manager.getSessionFile() ?? "";
	const before = readFileSync(old, "utf8");
	const file = manager.createBranchedSession(last) ?? "";
	assert.equal(readFileSync(old, "utf8"), before);
	const [header, ...entries] = linesOf(file);
	assert.deepEqual([header.parentSession, header.cwd, header.id], [old, "/project", manager.getSessionId()]);
	assert.deepEqual(
		entries.map(({ type }) => type),
		["message", "message", "compaction", "message", "label"],
	);
	assert.deepEqual(
		entries.map(({ parentId }) => parentId),
		[null, ...entries.slice(0, -1).map(({ id }) => id)],
	);
	assert.equal(entries[2].firstKeptEntryId, reply);
	assert.deepEqual([entries[4].targetId, entries[4].label], [first, "start"]);
	assert.equal(mode(file), "600");
	assert.deepEqual(SessionManager.open(file).getEntries(), entries);
	manager.appendMessage(user("q3"));
	assert.equal(linesOf(file).length, 7);
	assert.throws(() => manager.createBranchedSession("nope"), { message: "Entry nope not found" });

	const memory = SessionManager.inMemory("/p");
	const only = memory.appendThinkingLevelChange("low");
	memory.appendMessage(user("q"));
	assert.equal(memory.createBranchedSession(only), undefined);
	assert.deepEqual([memory.getEntryCount(), memory.getHeader().parentSession], [1, undefined]);
});

test("sessions: a fork copies everything and does not touch its source", () => {
	const source = fileOf(
		[
			{ type: "session", id: "old", timestamp: "t", cwd: "/project" },
			{ type: "message", timestamp: "t", message: user("q") },
			{ type: "message", timestamp: "t", message: answer("a") },
		],
		"",
	);
	const before = readFileSync(source, "utf8");
	const directory = path.join(scratch, "forked");
	const fork = SessionManager.forkFrom(source, "/target", directory, { id: "mine" });
	assert.equal(readFileSync(source, "utf8"), before);
	const [header, ...entries] = linesOf(fork.getSessionFile() ?? "");
	assert.deepEqual([header.id, header.cwd, header.parentSession, header.version], ["mine", "/target", source, 3]);
	assert.deepEqual([entries.length, roles(fork)], [2, ["user", "assistant"]]);
	assert.equal(SessionManager.findById("/target", "mine", directory), fork.getSessionFile());
	assert.equal(SessionManager.findById("/other", "mine", directory), undefined);
});

test("sessions: summaries of branches stand where the session went on", () => {
	const manager = SessionManager.inMemory("/p");
	const first = manager.appendMessage(user("q"));
	const left = manager.appendMessage(answer("a"));
	const summary = manager.getEntry(manager.branchWithSummary(first, "what was there", { n: 1 }, true));
	assert.deepEqual([summary?.parentId, summary?.fromId, summary?.fromHook], [first, left, true]);
	const root = manager.getEntry(manager.branchWithSummary(null, "again"));
	assert.deepEqual([root?.parentId, root?.fromId], [null, summary?.id]);
	assert.throws(() => manager.branchWithSummary("nope", "x"), { message: "Entry nope not found" });
	assert.equal(manager.getLeafId(), root?.id);
});

test("sessions: every entry is in the tree, whatever the parents say", () => {
	const entry = (id: string, parentId: string | null): Any => ({ type: "custom", id, parentId, timestamp: "t" });
	const shape = (nodes: Any[]): Any => nodes.map((node) => [node.entry.id, ...shape(node.children)]);
	const tree = (parents: Record<string, string | null>) =>
		shape(
			treeOf(
				Object.entries(parents).map(([id, parent]) => entry(id, parent)),
				() => undefined,
			),
		);
	assert.deepEqual(tree({ a: null, b: "a", c: "gone" }), [["a", ["b"]], ["c"]]);
	assert.deepEqual(tree({ a: "a", b: "a" }), [["a", ["b"]]]);
	assert.deepEqual(tree({ below: "d", b: "c", c: "d", d: "b" }), [["b", ["d", ["below"], ["c"]]]]);
	const manager = SessionManager.inMemory("/p");
	const first = manager.appendMessage(user("q"));
	manager.appendLabelChange(first, "here");
	assert.equal(manager.getTree()[0]?.label, "here");
});

test("sessions: lists look at regular files of the project, and at all of their activity", async () => {
	const directory = path.join(scratch, "listed");
	mkdirSync(path.join(directory, "directory.jsonl"), { recursive: true });
	const write = (name: string, lines: object[]) =>
		writeFileSync(path.join(directory, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
	write("a.jsonl", [HEADER, message("a", null, user("  ")), message("b", "a", user("real", 5000))]);
	write("b.jsonl", [HEADER, message("a", null, answer("early", 9000)), message("b", "a", answer("late", 4000))]);
	write("nowhere.jsonl", [{ ...HEADER, cwd: undefined }, message("a", null, user("q"))]);
	write("notes.jsonl", [{ type: "x" }]);
	// Beyond what is read to find a header.
	writeFileSync(path.join(directory, "far.jsonl"), `${"x".repeat(1024 * 1024)}\n${JSON.stringify(HEADER)}\n`);
	const found = await SessionManager.list("/project", directory);
	assert.deepEqual(
		found.map((info) => [path.basename(info.path), info.modified.getTime(), info.firstMessage, info.allMessagesText]),
		[
			["b.jsonl", 9000, "(no messages)", "early late"],
			["a.jsonl", 5000, "real", "   real"],
		],
	);
	assert.equal((await SessionManager.list(process.cwd(), directory)).length, 0);
	assert.equal(SessionManager.open(path.join(directory, "far.jsonl")).getSessionId(), "s");
});
