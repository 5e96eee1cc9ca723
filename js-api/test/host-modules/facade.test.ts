// Values of the coding-agent module that extensions of the corpus use.

import assert from "node:assert/strict";
4;
import { AsyncLocalStorage } from "node:async_hooks";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { stripTerminalSequences } from "@earendil-works/pi-tui";
import * as realFrontmatter from "../../node_modules/@earendil-works/pi-coding-agent/dist/utils/frontmatter.js";
import { Runtime, useRuntime } from "../../src/api/runtime.ts";
import { useTurnStorage } from "../../src/api/file-turns.ts";
import { connectHost } from "../../src/host.ts";
import * as sdk from "../../src/host-modules/coding-agent/index.ts";

const scratch = mkdtempSync(path.join(tmpdir(), "pier-facade-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

const TUI = { requestRender() {}, terminal: { rows: 24, columns: 80 } } as never;
const plain = (lines: readonly string[]) => lines.map((line) => stripTerminalSequences(line).trimEnd());

/** Every value of sdk-exports §2.2 that the corpus imports at least once, and the "also" set. */
const VALUES =
	`Theme getAgentDir createBashTool createReadTool createWriteTool createEditTool createGrepTool createFindTool createLsTool
	createBashToolDefinition createReadToolDefinition createWriteToolDefinition createEditToolDefinition createGrepToolDefinition
	createFindToolDefinition createLsToolDefinition convertToLlm serializeConversation BorderedLoader CustomEditor CONFIG_DIR_NAME DynamicBorder
	DEFAULT_MAX_BYTES DEFAULT_MAX_LINES truncateHead truncateTail truncateLine formatSize getSettingsListTheme getMarkdownTheme
	getSelectListTheme getEditorTheme withFileMutationQueue formatReadLineRange defineTool parseFrontmatter VERSION AuthStorage
	discoverAuthStorage Settings settings ModelRegistry runSubprocess isToolCallEventType isBashToolResult isReadToolResult isEditToolResult
	isWriteToolResult isGrepToolResult isFindToolResult isLsToolResult SessionManager buildSessionContext parseSessionEntries
	getLatestCompactionEntry migrateSessionEntries CURRENT_SESSION_VERSION compact generateSummary estimateTokens calculateContextTokens
	shouldCompact findCutPoint DEFAULT_COMPACTION_SETTINGS createEventBus EventBus runSubprocess createCodingTools createReadOnlyTools
	createLocalBashOperations loadSkills formatSkillsForPrompt highlightCode getLanguageFromPath initTheme keyHint keyText rawKeyHint appKey
	appKeyHint editorKey renderDiff truncateToVisualLines copyToClipboard getShellConfig stripFrontmatter ExtensionSelectorComponent
	ExtensionInputComponent ExtensionEditorComponent UserMessageComponent AssistantMessageComponent ToolExecutionComponent
	CustomMessageComponent ExtensionRuntimeNotInitializedError logger Container Markdown Spacer Text StringEnum`.split(
		/\s+/,
	);

test("every value of the specification is exported", () => {
	assert.deepEqual(
		VALUES.filter((name) => (sdk as Record<string, unknown>)[name] === undefined),
		[],
	);
});

test("what this host does not have fails by name, when used", async () => {
	await assert.rejects(sdk.createAgentSessionRuntime(), {
		name: "NotAvailableError",
		message: /^"createAgentSessionRuntime" is not available in this host: /,
	});
	assert.throws(() => new sdk.InteractiveMode(), { name: "NotAvailableError", feature: "InteractiveMode" });
});

test("front matter agrees with the real package", () => {
	for (const text of [
		"---\na: 1\nb: [x, y]\n---\n\nhello\n",
		"no\r\nx\n",
		"---\nabc",
		"---\n---\nabc",
		"---\r\na: b\r\n---\r\ntext\r\n",
		"",
		"text\n---\na: 1\n---\n",
	]) {
		assert.deepEqual(sdk.parseFrontmatter(text), realFrontmatter.parseFrontmatter(text), JSON.stringify(text));
		assert.equal(sdk.stripFrontmatter(text), realFrontmatter.stripFrontmatter(text));
	}
	assert.throws(() => sdk.parseFrontmatter("---\na: [1\n---\n"));
});

test("tool guards and defineTool", () => {
	const definition = { name: "x", execute() {} };
	assert.equal(sdk.defineTool(definition), definition);
	assert.equal(sdk.isToolCallEventType("bash", { toolName: "bash" }), true);
	assert.equal(sdk.isToolCallEventType("bash", { toolName: "read" }), false);
	assert.equal(sdk.isEditToolResult({ toolName: "edit" }), true);
	assert.equal(sdk.isEditToolResult({ toolName: "write" }), false);
});

test("read line ranges", () => {
	const cases: [unknown, unknown, string][] = [
		[3, 5, ":3-7"],
		[3, undefined, ":3"],
		[undefined, 5, ":1-5"],
		["3", "4", ":3-6"],
		["x", 2, ""],
		[undefined, undefined, ""],
	];
	for (const [offset, limit, shown] of cases) assert.equal(sdk.formatReadLineRange(offset, limit), shown);
});

test("the mutation queue asks at once, waits, names its turn to what is done inside, and ends it in any case", async () => {
	const calls: unknown[] = [];
	let come: (() => void) | undefined;
	let turns = 0;
	useTurnStorage(() => new AsyncLocalStorage());
	connectHost({
		call(method, args) {
			calls.push([method, JSON.parse(args)]);
			return method === "fileTurn.ask" ? JSON.stringify({ turn: ++turns }) : undefined;
		},
		callAsync(method, args) {
			calls.push([method, JSON.parse(args)]);
			return new Promise((resolve) => {
				come = () => resolve(undefined);
			});
		},
		setHandler() {},
		importModule: () => Promise.reject(new Error("nothing to import")),
	});
	const file = path.join(scratch, "file.txt");
	let ran = false;
	const outer = sdk.withFileMutationQueue(file, async () => {
		ran = true;
		await null;
		await sdk.withFileMutationQueue(file, () => Promise.reject(new Error("on purpose")));
	});
	assert.deepEqual(calls.splice(0), [
		["fileTurn.ask", { path: file }],
		["fileTurn.wait", { turn: 1 }],
	]);
	assert.equal(ran, false);
	come?.();
	while (calls.length < 2) await new Promise(setImmediate);
	assert.deepEqual(calls.splice(0), [
		["fileTurn.ask", { path: file, inside: [1] }],
		["fileTurn.wait", { turn: 2 }],
	]);
	come?.();
	await assert.rejects(outer, /on purpose/);
	assert.deepEqual(calls, [
		["fileTurn.end", { turn: 2 }],
		["fileTurn.end", { turn: 1 }],
	]);
});

test("pipes in place of skills and sessions hold nothing up", async () => {
	const directory = path.join(scratch, "pipes");
	mkdirSync(directory);
	const [skill, session] = [path.join(directory, "SKILL.md"), path.join(directory, "s.jsonl")];
	execFileSync("mkfifo", [skill, session]);
	const { skills, diagnostics } = sdk.loadSkillsFromDir({ dir: directory, source: "user" });
	const message = `not a regular file (pipe, device or socket): ${skill}`;
	assert.deepEqual([skills, diagnostics], [[], [{ type: "warning", message, path: skill }]]);
	assert.throws(() => sdk.SessionManager.open(session), /not a regular file/);
	assert.deepEqual(await sdk.SessionManager.list(scratch, directory), []);
});

test("event buses keep order, survive failing handlers and forget on request", () => {
	const failures: unknown[] = [];
	const bus = sdk.createEventBus((_channel, error) => failures.push(error));
	const heard: unknown[] = [];
	const off = bus.on("a", (data) => heard.push(["one", data]));
	bus.on("a", () => {
		throw new Error("broken");
	});
	bus.on("a", (data) => heard.push(["two", data]));
	bus.emit("a", 1);
	off();
	bus.emit("a", 2);
	bus.clear();
	bus.emit("a", 3);
	assert.deepEqual(heard, [
		["one", 1],
		["two", 1],
		["two", 2],
	]);
	assert.equal(failures.length, 2);
});

test("key hints name the keys of an action", () => {
	assert.equal(sdk.keyText("tui.select.cancel"), "esc/ctrl+c");
	assert.equal(sdk.keyText("app.tools.expand"), "ctrl+o");
	assert.equal(sdk.keyText("expandTools"), "ctrl+o");
	assert.equal(stripTerminalSequences(sdk.keyHint("app.tools.expand", "to expand")), "ctrl+o to expand");
	assert.equal(stripTerminalSequences(sdk.rawKeyHint("escape", "cancel")), "esc cancel");
});

test("a bordered loader aborts on Escape, and not when it may not be cancelled", () => {
	const loader = new sdk.BorderedLoader(TUI, sdk.theme, "Working on it");
	let aborted = 0;
	loader.onAbort = () => aborted++;
	const lines = plain(loader.render(40));
	assert.equal(lines[0], "─".repeat(40));
	assert.ok(lines.some((line) => line.includes("Working on it")));
	assert.ok(lines.some((line) => line.includes("esc")));
	loader.handleInput("\x1b");
	assert.deepEqual([loader.signal.aborted, aborted], [true, 1]);
	loader.dispose();
	const fixed = new sdk.BorderedLoader(TUI, sdk.theme, "Fixed", { cancellable: false });
	fixed.handleInput("\x1b");
	assert.equal(fixed.signal.aborted, false);
	fixed.dispose();
});

test("a custom editor sends the application's keys to their handlers and the rest to the text", () => {
	const editor = new sdk.CustomEditor(TUI, sdk.getEditorTheme(), sdk.KeybindingsManager.inMemory());
	const pressed: string[] = [];
	editor.onEscape = () => pressed.push("escape");
	editor.onCtrlD = () => pressed.push("ctrl+d");
	editor.onAction("app.tools.expand", () => pressed.push("expand"));
	editor.onExtensionShortcut = (data) => data === "\x07";
	for (const key of ["\x1b", "\x0f", "\x07", "\x04", "h", "i"]) editor.handleInput(key);
	assert.deepEqual(pressed, ["escape", "expand", "ctrl+d"]);
	assert.equal(editor.getText(), "hi");
	editor.handleInput("\x01");
	editor.handleInput("\x04");
	assert.equal(editor.getText(), "i", "with text, ctrl+d deletes forward");
	assert.deepEqual(pressed, ["escape", "expand", "ctrl+d"]);
});

test("dialogs as components", () => {
	const picked: string[] = [];
	const select = new sdk.ExtensionSelectorComponent(
		"Pick",
		["one", "two", "three"],
		(choice) => picked.push(choice),
		() => picked.push("cancelled"),
	);
	for (const key of ["\x1b[B", "\x1b[B", "\x1b[B", "\x1b[A", "\r"]) select.handleInput(key);
	assert.deepEqual(picked, ["three"]);
	assert.ok(plain(select.render(40)).some((line) => line.includes("→ three")));
	select.handleInput("\x1b");
	assert.deepEqual(picked, ["three", "cancelled"]);
	const input = new sdk.ExtensionInputComponent(
		"Name",
		"type here",
		(value) => picked.push(value),
		() => {},
	);
	for (const key of ["a", "b", "\r"]) input.handleInput(key);
	assert.equal(picked.at(-1), "ab");
});

test("diffs are coloured line by line, changed words marked", () => {
	const text = sdk.renderDiff(" 1 same\n-2 old word\n+2 new word\n   ...");
	assert.deepEqual(text.split("\n").map(stripTerminalSequences), [" 1 same", "-2 old word", "+2 new word", "   ..."]);
	assert.ok(text.includes("\x1b[7mold\x1b[27m") && text.includes("\x1b[7mnew\x1b[27m"));
});

test("code is highlighted without losing a character", () => {
	const code = 'const a = "x < y && z";\n/* two\n   lines */\nfn<T>(a);\n';
	const lines = sdk.highlightCode(code, "ts");
	assert.equal(lines.map(stripTerminalSequences).join("\n"), code);
	assert.ok(lines[0]?.includes("\x1b["));
	assert.ok(
		lines[1]?.startsWith("\x1b[") && lines[2]?.startsWith("\x1b["),
		"a comment over two lines is coloured on both",
	);
	assert.equal(sdk.highlightCode("a b", "no-such-language").map(stripTerminalSequences).join(), "a b");
	assert.equal(sdk.getLanguageFromPath("/a/Dockerfile"), "dockerfile");
	assert.equal(sdk.getLanguageFromPath("x.TSX"), "typescript");
	assert.equal(sdk.getLanguageFromPath("x.unknown"), undefined);
});

test("visual lines", () => {
	assert.deepEqual(sdk.truncateToVisualLines("", 3, 10), { visualLines: [], skippedCount: 0 });
	const { visualLines, skippedCount } = sdk.truncateToVisualLines("aaaa bbbb cccc\nd", 2, 5);
	assert.deepEqual([plain(visualLines), skippedCount], [["cccc", "d"], 2]);
});

test("skills: discovery, diagnostics and the prompt", () => {
	const cwd = path.join(scratch, "project");
	const skill = (name: string, text: string) => {
		const directory = path.join(cwd, sdk.CONFIG_DIR_NAME, "skills", name);
		mkdirSync(directory, { recursive: true });
		writeFileSync(path.join(directory, "SKILL.md"), text);
	};
	skill("good", "---\ndescription: Does <good> things\n---\nbody");
	skill("named", "---\nname: other\ndescription: d\ndisable-model-invocation: true\n---\n");
	skill("silent", "no description");
	const { skills, diagnostics } = sdk.loadSkills({
		cwd,
		agentDir: path.join(scratch, "none"),
		skillPaths: ["missing"],
	});
	assert.deepEqual(
		skills.map(({ name }) => name),
		["good", "other"],
	);
	assert.equal(diagnostics.length, 2);
	const prompt = sdk.formatSkillsForPrompt(skills);
	assert.match(prompt, /<name>good<\/name>\n {4}<description>Does &lt;good&gt; things<\/description>/);
	assert.ok(!prompt.includes("other"));
	assert.equal(sdk.formatSkillsForPrompt([]), "");
});

test("built-in tools without operations run on the host, with updates and cancellation", async () => {
	const calls: [string, unknown][] = [];
	const runtime = useRuntime(new Runtime());
	let finish = (_: string) => {};
	connectHost({
		call(method, args) {
			calls.push([method, JSON.parse(args)]);
			return undefined;
		},
		callAsync(method, args) {
			calls.push([method, JSON.parse(args)]);
			return new Promise((resolve) => {
				finish = resolve;
			});
		},
		setHandler() {},
		importModule: async () => ({}),
	});
	const controller = new AbortController();
	const updates: unknown[] = [];
	const tool = sdk.createBashTool("/project", { commandPrefix: "set -e" });
	const running = tool.execute("call", { command: "ls" }, controller.signal, (partial) => updates.push(partial));
	await Promise.resolve();
	const [method, request] = calls[0] as [string, { builtinId: number; onUpdate: number }];
	assert.equal(method, "runBuiltinTool");
	assert.deepEqual(
		{ ...request, builtinId: 0, onUpdate: 0 },
		{
			name: "bash",
			args: { command: "ls" },
			cwd: "/project",
			options: { commandPrefix: "set -e" },
			builtinId: 0,
			onUpdate: 0,
		},
	);
	runtime.callbacks.get(request.onUpdate)?.([{ content: [] }], undefined);
	controller.abort();
	assert.deepEqual(calls[1], ["runBuiltinTool.cancel", { builtinId: request.builtinId }]);
	finish('{"content":[{"type":"text","text":"done"}]}');
	assert.deepEqual(await running, { content: [{ type: "text", text: "done" }] });
	assert.deepEqual(updates, [{ content: [] }]);
	assert.equal(runtime.callbacks.size, 0);
	await assert.rejects(tool.execute("call", { command: "ls" }, controller.signal), /Operation aborted/);
});

test("a tool definition draws itself and passes the call on", async () => {
	useRuntime(new Runtime());
	connectHost({
		call: () => undefined,
		callAsync: async () => '{"content":[{"type":"text","text":"a\\nb"}]}',
		setHandler() {},
		importModule: async () => ({}),
	});
	const definition = sdk.createReadToolDefinition("/project");
	const result = await definition.execute("call", { path: "f.ts", offset: 1 });
	assert.equal((result.content[0] as { text: string }).text, "a\nb");
	assert.deepEqual(plain(definition.renderCall({ path: "f.ts", offset: 2, limit: 3 }, sdk.theme).render(60)), [
		"read f.ts:2-4",
	]);
	assert.deepEqual(
		plain(definition.renderResult(result, { expanded: true }, sdk.theme, { args: { path: "f.ts" } }).render(60)),
		["", "a", "b"],
	);
	assert.ok(definition.promptSnippet.length > 0);
});

test("a tool's component survives broken renderers", () => {
	const component = new sdk.ToolExecutionComponent("mine", "1", { a: 1 }, undefined, {
		label: "Mine",
		renderCall() {
			throw new Error("broken");
		},
	});
	component.updateResult({ content: [{ type: "text", text: "output" }] });
	const text = plain(component.render(60)).join("\n");
	assert.ok(text.includes("Mine") && text.includes("output"));
});
