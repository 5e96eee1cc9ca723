// The tools of the SDK over operations of an extension: the same files through ours and through the real package's.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as ours from "@earendil-works/pi-coding-agent";
import { type Any, real, run, same } from "./oracle.ts";

const { Random } = await import(process.env.RANDOM as string);
const realBash = await real("bash", "createBashTool");
const realEdit = await real("edit", "createEditTool");
const realFind = await real("find", "createFindTool");
const realLs = await real("ls", "createLsTool");
const realRead = await real("read", "createReadTool");
const realWrite = await real("write", "createWriteTool");

export const checks: [name: string, check: () => Promise<void>][] = [];
const test = (name: string, check: () => Promise<void>) => checks.push([name, check]);

const FILE = "/project/f.txt";

test("read: ranges, limits, notices and errors", async () => {
	const numbered = Array.from({ length: 2500 }, (_, index) => `line ${index + 1}`).join("\n");
	const files: Record<string, string> = {
		[FILE]: "one\ntwo\nthree\n",
		"/project/long.txt": numbered,
		"/project/wide.txt": `${"w".repeat(300)}\n`.repeat(400),
		"/project/huge.txt": `a\n${"h".repeat(60_000)}\nb`,
		"/project/empty.txt": "",
	};
	const cases: object[] = [
		{ path: "f.txt" },
		{ path: "@f.txt", offset: 2 },
		{ path: FILE, offset: 2, limit: 1 },
		{ path: "f.txt", limit: 2 },
		{ path: "f.txt", limit: 4 },
		{ path: "f.txt", offset: 4 },
		{ path: "f.txt", offset: 5 },
		{ path: "long.txt" },
		{ path: "long.txt", offset: 400 },
		{ path: "long.txt", offset: 100, limit: 2100 },
		{ path: "long.txt", offset: 100, limit: 20 },
		{ path: "wide.txt" },
		{ path: "wide.txt", offset: 50 },
		{ path: "huge.txt", offset: 2 },
		{ path: "huge.txt" },
		{ path: "empty.txt" },
		{ path: "missing.txt" },
	];
	for (const params of cases) await same(ours.createReadTool, realRead, files, params, { wholeErrors: true });
	const beyond = await run(ours.createReadTool, files, { path: "f.txt", offset: 9 });
	assert.equal(beyond.error, "Offset 9 is beyond end of file (4 lines total)");
});

test("read: images come back as images when the operations can tell", async () => {
	const detectImageMimeType = async () => "image/png";
	const data =
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
	const readFile = async () => Buffer.from(data, "base64");
	const { result } = await run(
		ours.createReadTool,
		{ "/project/i.png": "" },
		{ path: "i.png" },
		{ detectImageMimeType, readFile },
	);
	assert.deepEqual(result.content, [
		{ type: "text", text: "Read image file [image/png]" },
		{ type: "image", data, mimeType: "image/png" },
	]);
});

test("read: a stream is read instead of the whole file", async () => {
	const createReadStream = async function* () {
		yield Buffer.from("é").subarray(0, 1);
		yield Buffer.from("é").subarray(1);
		yield Buffer.from("\nend");
	};
	const { result } = await run(ours.createReadTool, { [FILE]: "unused" }, { path: "f.txt" }, { createReadStream });
	assert.equal(result.content[0].text, "é\nend");
});

test("write: creates and overwrites", async () => {
	for (const files of [{}, { [FILE]: "old" }] as Record<string, string>[]) {
		const outcome = await same(ours.createWriteTool, realWrite, files, { path: "f.txt", content: "new\n" });
		assert.equal(outcome.files[FILE], "new\n");
		assert.equal(outcome.result.content[0].text, "Successfully wrote to f.txt");
	}
});

test("edit: matching, line ends, errors", async () => {
	const edit = (oldText: string, newText: string) => ({ oldText, newText });
	const cases: [string, ReturnType<typeof edit>[]][] = [
		["a\nb\nc\n", [edit("b", "B")]],
		["a\r\nb\r\nc\r\n", [edit("b\nc", "B\nX\nC")]],
		["\uFEFFa\r\nb", [edit("a", "z")]],
		["a\nb\nb\n", [edit("b", "B")]],
		["a\nb\nb\n", [edit("b", "B"), edit("a", "A")]],
		["a\nb\n", [edit("z", "B")]],
		["a\nb\n", [edit("z", "B"), edit("a", "A")]],
		["abc\n", [edit("ab", "B"), edit("bc", "A")]],
		["abc\n", [edit("ab", "ab")]],
		["abc\n", [edit("", "ab")]],
		["abc\n", [edit("a", "x"), edit("", "ab")]],
		["abc\n", []],
		["say \u201Chi\u201D  \nother \u201Cx\u201D\nz\n", [edit('say "hi"', "bye")]],
		["tail   \nnext\u00A0word\n", [edit("tail\nnext word", "T\nN")]],
		["a \u2014 b\nc \u2014 d\n", [edit("c - d", "c + d"), edit("a \u2014 b", "A")]],
		["one\ntwo\nthree", [edit("three", "3"), edit("one\n", "")]],
	];
	for (const [content, edits] of cases) {
		await same(ours.createEditTool, realEdit, { [FILE]: content }, { path: "f.txt", edits });
	}
	await same(ours.createEditTool, realEdit, {}, { path: "gone.txt", edits: [edit("a", "b")] }, { wholeErrors: true });
	const overlap = await run(
		ours.createEditTool,
		{ [FILE]: "abc" },
		{ path: "f.txt", edits: [edit("ab", "1"), edit("bc", "2")] },
	);
	assert.match(overlap.error ?? "", /^edits\[0\] and edits\[1\] overlap in f\.txt\./);
});

test("edit: generated edits agree, their diffs included", async () => {
	const random = new Random(42);
	const words = ["alpha", "beta", "gamma", "delta", "  indented", "\u201Cquoted\u201D", "end;", "", "x", "caf\u00E9"];
	let applied = 0;
	for (let round = 0; round < 400; round++) {
		const lines = Array.from({ length: random.integer(1, 25) }, (_, index) => `${random.pick(words)} ${index}`);
		const content = lines.join("\n") + (random.integer(0, 1) === 1 ? "\n" : "");
		const edits = Array.from({ length: random.integer(1, 3) }, () => {
			const start = random.integer(0, content.length - 1);
			const oldText = content.slice(start, start + random.integer(1, 40));
			return { oldText, newText: random.integer(0, 4) === 0 ? "" : `${random.pick(words)}\n${random.pick(words)}` };
		});
		// The real one counts every position of a text of blanks only.
		if (edits.some(({ oldText }) => oldText.trim() === "")) continue;
		const outcome = await same(ours.createEditTool, realEdit, { [FILE]: content }, { path: "f.txt", edits });
		if (outcome.error === undefined) applied++;
	}
	assert.ok(applied > 80, `only ${applied} edits were applied`);
});

test("edit: other spellings of the arguments", async () => {
	const files = { [FILE]: "a b" };
	for (const params of [
		{ path: "f.txt", oldText: "a", newText: "c" },
		{ path: "f.txt", edits: '[{"oldText":"a","newText":"c"}]' },
		{ path: "f.txt", edits: { oldText: "a", newText: "c" } },
	]) {
		assert.equal((await run(ours.createEditTool, files, params)).files[FILE], "c b");
	}
	const none = await run(ours.createEditTool, files, { path: "f.txt", edits: [] });
	assert.equal(none.error, "Edit tool input is invalid. edits must contain at least one replacement.");
});

test("edit: every line of a file with mixed line ends keeps its own", async () => {
	const { files } = await run(
		ours.createEditTool,
		{ [FILE]: "a\r\nb\nc\r\nd\n" },
		{ path: "f.txt", edits: [{ oldText: "c", newText: "C" }] },
	);
	assert.equal(files[FILE], "a\r\nb\nC\r\nd\n");
});

test("ls and find: lists, limits and errors", async () => {
	const files: Record<string, string> = {
		"/project/B.txt": "",
		"/project/a.txt": "",
		"/project/.hidden": "",
		"/project/dir/x.ts": "",
		"/project/dir/sub/y.ts": "",
	};
	for (const params of [{}, { path: "dir" }, { limit: 2 }, { path: "gone" }, { path: "a.txt" }]) {
		await same(ours.createLsTool, realLs, files, params, { wholeErrors: true });
	}
	const glob = async () => ["/project/dir/x.ts", "/project/dir/sub/", "a.txt"];
	for (const params of [{ pattern: "**" }, { pattern: "x", path: "gone" }]) {
		await same(ours.createFindTool, realFind, files, params, { more: { glob }, wholeErrors: true });
	}
	const { result } = await run(ours.createFindTool, files, { pattern: "**", limit: 2 }, { glob });
	assert.match(result.content[0].text, /\n\n\[2 results limit reached\. Use limit=4 for more, or refine pattern\]$/);
	assert.deepEqual(result.details, { resultLimitReached: 2 });
	await same(ours.createFindTool, realFind, files, { pattern: "none" }, { more: { glob: () => [] } });
});

function withoutTimes(outcome: { result?: Any }): Any {
	if (outcome.result?.structuredContent) outcome.result.structuredContent.wall_time_seconds = 0;
	const path = outcome.result?.details?.fullOutputPath as string | undefined;
	const text = JSON.stringify(outcome, (key, value) => (key === "updates" ? undefined : value));
	return JSON.parse(path === undefined ? text : text.replaceAll(path, "PATH"));
}

test("bash: output, exit codes and failures", async () => {
	const prints = (text: string, exitCode: number | null) => async (_c: string, _d: string, o: Any) => {
		o.onData(Buffer.from(text));
		return { exitCode };
	};
	const execs: Record<string, Any> = {
		plain: prints("out\n", 0),
		silent: async () => ({ exitCode: 0 }),
		failed: prints("out", 3),
		failedSilently: async () => ({ exitCode: 3 }),
		noCode: prints("out", null),
		aborted: async (_c: string, _d: string, o: Any) => {
			o.onData(Buffer.from("out"));
			throw new Error("aborted");
		},
		timeout: async () => {
			throw new Error("timeout:5");
		},
		other: async () => {
			throw new Error("no such machine");
		},
		lines: async (_c: string, _d: string, o: Any) => {
			for (let i = 0; i < 3000; i++) o.onData(Buffer.from(`line ${i}\n`));
			return { exitCode: 0 };
		},
		bytes: async (_c: string, _d: string, o: Any) => {
			for (let i = 0; i < 1500; i++) o.onData(Buffer.from(`${"x".repeat(70)}${i}\n`));
			return { exitCode: 1 };
		},
		megabytes: async (_c: string, _d: string, o: Any) => {
			for (let i = 0; i < 40; i++) o.onData(Buffer.from("abcdefg\n".repeat(8192)));
			return { exitCode: 0 };
		},
		oneLine: prints("y".repeat(60_000), 0),
	};
	for (const [name, exec] of Object.entries(execs)) {
		const params = { command: name };
		const mine = withoutTimes(await run(ours.createBashTool, {}, params, { exec }));
		const theirs = withoutTimes(await run(realBash, {}, params, { exec }));
		if (name === "megabytes") {
			// Theirs is larger than its limit by the note in the middle.
			assert.ok(Buffer.byteLength(mine.result.structuredContent.output) <= 2 ** 20);
			theirs.result.structuredContent.output = mine.result.structuredContent.output;
		}
		assert.deepEqual(mine, theirs, name);
	}
});

test("bash: the command that runs", async () => {
	const seen: Any[] = [];
	const exec = async (command: string, cwd: string, options: Any) => {
		seen.push({ command, cwd, timeout: options.timeout, own: options.env.OWN });
		return { exitCode: 0 };
	};
	const tool = ours.createBashTool("/project", {
		operations: { exec },
		commandPrefix: "set -e",
		spawnHook: (context) => ({ ...context, cwd: "/elsewhere", env: { ...context.env, OWN: "1" } }),
	});
	await tool.execute("call", { command: "true", timeout: 4 });
	assert.deepEqual(seen, [{ command: "set -e\ntrue", cwd: "/elsewhere", timeout: 4, own: "1" }]);
});

test("bash on this machine: output, code, signal, timeout, abort, missing directory", async () => {
	const { exec } = ours.createLocalBashOperations();
	const collect = async (command: string, options: Any = {}, cwd = "/"): Promise<Any> => {
		let text = "";
		const onData = (data: Buffer) => {
			text += data.toString();
		};
		try {
			return { text: () => text, ...(await exec(command, cwd, { onData, ...options })) };
		} catch (error) {
			return { text: () => text, error: (error as Error).message };
		}
	};
	const plain = await collect("echo out; echo err >&2; exit 4");
	assert.equal(plain.exitCode, 4);
	assert.deepEqual(plain.text().split("\n").sort(), ["", "err", "out"]);
	assert.equal((await collect("kill -9 $$")).exitCode, 137);
	assert.equal((await collect("read x; echo got $x")).text(), "got\n");
	assert.equal((await collect("sleep 30", { timeout: 0.2 })).error, "timeout:0.2");
	const controller = new AbortController();
	const aborted = collect("echo start; sleep 30", { signal: controller.signal });
	setTimeout(() => controller.abort(), 100);
	assert.equal((await aborted).error, "aborted");
	assert.match(
		(await collect("true", {}, "/no/such/place")).error ?? "",
		/^Working directory does not exist: \/no\/such\/place\n/,
	);
	// A child that keeps the pipe open must not keep the tool waiting.
	assert.equal((await collect("sleep 20 & echo done")).text(), "done\n");
});

test("edit: a file that is not UTF-8 is refused and left alone", async () => {
	let bytes = Buffer.from([0x61, 10, 0xe9, 10]);
	const operations = {
		access: async () => {},
		readFile: async () => bytes,
		writeFile: async (_path: string, text: string) => {
			bytes = Buffer.from(text);
		},
	};
	const tool = ours.createEditTool("/project", { operations } as Any);
	await assert.rejects(tool.execute("1", { path: "f.txt", edits: [{ oldText: "a", newText: "A" }] } as Any), /not UTF-8/);
	assert.deepEqual([...bytes], [0x61, 10, 0xe9, 10]);
});

test("edit: only lines that a loose match touches take the plain form", async () => {
	const outcome = await run(
		ours.createEditTool,
		{ [FILE]: "say \u201Chi\u201D\nexact \u201Cx\u201D  \na\r\nb\nc\n" },
		{
			path: "f.txt",
			edits: [
				{ oldText: 'say "hi"', newText: "bye" },
				{ oldText: "exact", newText: "EXACT" },
				{ oldText: "a\nb", newText: "x" },
			],
		},
	);
	assert.equal(outcome.files[FILE], "bye\nEXACT \u201Cx\u201D  \nx\nc\n");
});

test("read: other spellings of a name, and images by their bytes", async () => {
	const files = { "/project/it\u2019s.txt": "curly", "/project/cafe\u0301.txt": "decomposed" };
	assert.equal((await run(ours.createReadTool, files, { path: "it's.txt" })).result.content[0].text, "curly");
	assert.equal((await run(ours.createReadTool, files, { path: "caf\u00E9.txt" })).result.content[0].text, "decomposed");
	const png = Buffer.from(
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=",
		"base64",
	);
	const { result } = await run(ours.createReadTool, { [FILE]: "" }, { path: "f.txt" }, { readFile: async () => png });
	assert.equal(result.content[1].mimeType, "image/png");
});

test("read: what operations throw, and streams that fail", async () => {
	const refused = { access: async () => { throw Object.assign(new Error("EACCES: denied"), { code: "EACCES" }); } };
	assert.equal((await run(ours.createReadTool, { [FILE]: "" }, { path: "f.txt" }, refused)).error, "EACCES: denied");
	const createReadStream = async function* () {
		yield Buffer.from("begun");
		throw new Error("the line is dead");
	};
	const { error } = await run(ours.createReadTool, { [FILE]: "" }, { path: "f.txt" }, { createReadStream });
	assert.match(error ?? "", /the line is dead/);
	const wrong = await run(ours.createReadTool, { [FILE]: "" }, { path: "f.txt" }, { readFile: async () => 7 });
	assert.match(wrong.error ?? "", /must be a Buffer/);
});

test("bash on this machine: order of the output, and everything that it started ends with it", async () => {
	const { exec } = ours.createLocalBashOperations();
	let text = "";
	const command = "for i in 1 2 3 4; do echo o$i; echo e$i >&2; done";
	await exec(command, "/", { onData: (data: Buffer) => (text += data) });
	assert.equal(text, "o1\ne1\no2\ne2\no3\ne3\no4\ne4\n");
	let pids = "";
	const stubborn = `bash -c 'trap "" TERM; echo $$; sleep 60; sleep 60' & setsid sleep 61 & echo $!; sleep 60`;
	const onData = (data: Buffer) => (pids += data);
	await assert.rejects(exec(stubborn, "/", { onData, timeout: 0.5 }), { message: "timeout:0.5" });
	const alive = () =>
		pids
			.trim()
			.split("\n")
			.filter((pid) => {
				try {
					return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
				} catch {
					return false;
				}
			});
	// A killed process takes its time to end.
	for (let turn = 0; turn < 200 && alive().length > 0; turn++) await new Promise((resolve) => setTimeout(resolve, 25));
	assert.deepEqual(alive(), []);
	assert.equal((await exec("sleep 0.1; echo fine", "/", { onData, timeout: 3e6 })).exitCode, 0);
});
