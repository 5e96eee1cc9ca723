// Dialogs, frames, and the whole support matrix of `ctx.ui` (§8).

import assert from "node:assert/strict";
import { test } from "node:test";
import type { BindHeader } from "../../src/api/protocol.ts";
import { Theme } from "../../src/api/theme.ts";
import { type Any, commandContext, fixture, until } from "./fake-host.ts";

const RPC: BindHeader = { mode: "rpc", hasUI: true };
const TUI: BindHeader = { mode: "tui", hasUI: true };

async function ui(bind: BindHeader, profile: "pi" | "xcsh" = "pi") {
	const { host } = fixture();
	const { ctx } = await commandContext(host, { bind, profile });
	return { host, ctx, ui: ctx.ui };
}

test("dialogs round-trip with their fields", async () => {
	const { host, ui: u } = await ui(RPC);
	host.async["ui.dialog"] = ({ method }: Any) =>
		({ select: { value: "beta" }, confirm: { confirmed: true }, input: { value: "typed" }, editor: { value: "a\nb" } })[
			method as string
		];
	assert.equal(await u.select("Pick", ["alpha", "beta"], { initialIndex: 1, timeout: 5000 }), "beta");
	assert.equal(await u.confirm("Sure?", "Really?"), true);
	assert.equal(await u.input("Name?", "hint"), "typed");
	assert.equal(await u.editor("Edit", "text"), "a\nb");
	const frames = host.named("ui.dialog").map(({ dialogId, callId, ...rest }: Any) => {
		assert.equal(typeof dialogId, "number");
		assert.equal(typeof callId, "number");
		return rest;
	});
	assert.deepEqual(frames, [
		{ ext: 1, method: "select", title: "Pick", options: ["alpha", "beta"], initialIndex: 1, timeout: 5000 },
		{ ext: 1, method: "confirm", title: "Sure?", message: "Really?" },
		{ ext: 1, method: "input", title: "Name?", placeholder: "hint" },
		{ ext: 1, method: "editor", title: "Edit", prefill: "text" },
	]);
});

test("cancelled and wrong answers give the default", async () => {
	const { host, ui: u } = await ui(RPC);
	for (const answer of [{ cancelled: true }, { cancelled: true, value: "x", confirmed: true }, {}, undefined]) {
		host.async["ui.dialog"] = () => answer;
		assert.equal(await u.select("t", ["x"]), undefined);
		assert.equal(await u.confirm("t", "m"), false);
		assert.equal(await u.input("t"), undefined);
		assert.equal(await u.editor("t"), undefined);
	}
	host.async["ui.dialog"] = ({ method }: Any) => (method === "confirm" ? { value: "yes" } : { confirmed: true });
	assert.equal(await u.select("t", ["x"]), undefined);
	assert.equal(await u.confirm("t", "m"), false);
});

test("a value outside the options passes unchecked", async () => {
	const { host, ui: u } = await ui(RPC);
	host.async["ui.dialog"] = () => ({ value: "gamma" });
	assert.equal(await u.select("t", ["alpha"]), "gamma");
});

test("select accepts labelled items", async () => {
	const { host, ui: u } = await ui(RPC);
	host.async["ui.dialog"] = () => ({ value: "A" });
	assert.equal(await u.select("t", [{ label: "A", description: "first" }, { label: "B" }]), "A");
	assert.deepEqual(host.named("ui.dialog")[0].options, ["A", "B"]);
	assert.deepEqual(host.named("ui.dialog")[0].descriptions, ["first", ""]);
	await assert.rejects(u.select("t", "nope"), /options must be an array/);
});

test("a silent client: the timeout gives the default, onTimeout runs once, the dialog is cancelled, late answers are ignored", async () => {
	const { host, ui: u } = await ui(RPC);
	let answer: (value: unknown) => void = () => {};
	host.async["ui.dialog"] = () =>
		new Promise((resolve) => {
			answer = resolve;
		});
	let fired = 0;
	const start = performance.now();
	const options = { timeout: 50, onTimeout: () => fired++ };
	assert.equal(await u.select("t", ["a"], options), undefined);
	assert.ok(performance.now() - start >= 49);
	assert.equal(fired, 1);
	answer({ cancelled: true, timedOut: true });
	await new Promise((resolve) => setImmediate(resolve));
	assert.equal(fired, 1);
	assert.deepEqual(host.named("ui.cancelDialog"), [
		{ dialogId: host.named("ui.dialog")[0].dialogId, reason: "timeout" },
	]);
});

test("a timeout that the host reports runs onTimeout too", async () => {
	const { host, ui: u } = await ui(RPC);
	host.async["ui.dialog"] = () => ({ cancelled: true, timedOut: true });
	let fired = 0;
	assert.equal(await u.confirm("t", "m", { timeout: 60_000, onTimeout: () => fired++ }), false);
	assert.equal(fired, 1);
});

test("timeout 0 means none for pi and at once for xcsh", async () => {
	const pi = await ui(RPC, "pi");
	pi.host.async["ui.dialog"] = () => ({ value: "x" });
	assert.equal(await pi.ui.input("t", "", { timeout: 0 }), "x");
	assert.equal("timeout" in pi.host.named("ui.dialog")[0], false);
	const xcsh = await ui(RPC, "xcsh");
	xcsh.host.async["ui.dialog"] = () => new Promise(() => {});
	assert.equal(await xcsh.ui.input("t", "", { timeout: 0 }), undefined);
});

test("a signal that is aborted already resolves at once without a request", async () => {
	const { host, ui: u } = await ui(RPC);
	const signal = AbortSignal.abort();
	assert.equal(await u.select("t", ["a"], { signal }), undefined);
	assert.equal(await u.confirm("t", "m", { signal }), false);
	assert.equal(await u.input("t", "", { signal }), undefined);
	assert.equal(await u.editor("t", "", { signal }), undefined);
	assert.equal(host.calls.filter((c) => c.method.startsWith("ui.")).length, 0);
});

test("a signal that fires closes the dialog", async () => {
	const { host, ui: u } = await ui(RPC);
	host.async["ui.dialog"] = () => new Promise(() => {});
	const controller = new AbortController();
	const pending = u.editor("t", "", { signal: controller.signal });
	await until(() => host.named("ui.dialog").length === 1);
	controller.abort();
	assert.equal(await pending, undefined);
	assert.equal(host.named("ui.cancelDialog")[0].reason, "signal");
});

test("a terminal keeps the time itself, because dialogs may queue", async () => {
	const { host, ui: u } = await ui(TUI);
	host.async["ui.dialog"] = async () => {
		await new Promise((resolve) => setTimeout(resolve, 40));
		return { value: "answered" };
	};
	assert.equal(await u.select("t", ["a"], { timeout: 10 }), "answered");
	assert.equal(host.named("ui.dialog")[0].timeout, 10);
});

test("a refusing host rejects the dialog instead of leaving it open", async () => {
	const { host, ui: u } = await ui(RPC);
	host.async["ui.dialog"] = () => {
		throw Object.assign(new Error("revoked"), { name: "CallRevokedError" });
	};
	await assert.rejects(u.input("t"), { name: "CallRevokedError" });
});

test("arrow keys of a selector call back and cancel", async () => {
	const { host, ui: u } = await ui(TUI);
	host.async["ui.dialog"] = () => ({ cancelled: true, key: "left" });
	let left = 0;
	assert.equal(await u.select("t", ["a"], { onLeft: () => left++, onRight: () => assert.fail("right") }), undefined);
	assert.equal(left, 1);
	assert.equal(host.named("ui.dialog")[0].hasLeft, true);
});

test("frames over RPC carry the wire's fields", async () => {
	const { host, ui: u } = await ui(RPC);
	u.notify("plain");
	u.notify("bad", "error");
	u.notify("odd", "success");
	u.setStatus("k", "text");
	u.setStatus("k", undefined);
	u.setWidget("w", ["l1", 2]);
	u.setWidget("w", ["below"], { placement: "belowEditor" });
	u.setWidget("w", undefined);
	u.setTitle("title");
	u.setEditorText("pre");
	u.pasteToEditor("paste");
	const frames = host.named("ui").map(({ callId: _c, ext: _e, ...rest }: Any) => rest);
	assert.deepEqual(frames, [
		{ method: "notify", message: "plain" },
		{ method: "notify", message: "bad", notifyType: "error" },
		{ method: "notify", message: "odd" },
		{ method: "setStatus", statusKey: "k", statusText: "text" },
		{ method: "setStatus", statusKey: "k" },
		{ method: "setWidget", widgetKey: "w", widgetLines: ["l1", "2"] },
		{ method: "setWidget", widgetKey: "w", widgetLines: ["below"], widgetPlacement: "belowEditor" },
		{ method: "setWidget", widgetKey: "w" },
		{ method: "setTitle", title: "title" },
		{ method: "setEditorText", text: "pre" },
		{ method: "pasteToEditor", text: "paste" },
	]);
});

test("what RPC cannot show is announced once for each feature", async () => {
	const { host, ui: u } = await ui(RPC);
	const factory = () => ({ render: () => ["x"], invalidate() {} });
	u.setWidget("w", factory);
	u.setWidget("w2", factory);
	u.setFooter(factory);
	u.setFooter(undefined);
	u.setHeader(undefined);
	u.setWorkingMessage("hm");
	u.setWorkingMessage();
	assert.deepEqual(
		host.named("ui").map((f: Any) => [f.method, f.feature]),
		[
			["unsupported", "setWidget"],
			["unsupported", "setFooter"],
			["unsupported", "setWorkingMessage"],
		],
	);
});

test("custom over RPC rejects with a typed error, or gives undefined when the host asks for that", async () => {
	const strict = await ui(RPC);
	await assert.rejects(
		strict.ui.custom(() => ({})),
		{ name: "UnsupportedUiError", feature: "custom" },
	);
	const lenient = await ui({ ...RPC, ui: { flavor: "rpc", custom: "undefined" } });
	assert.equal(await lenient.ui.custom(() => ({})), undefined);
	await assert.rejects(lenient.ui.custom("x"), /factory must be a function/);
});

// ---------------------------------------------------------------- the matrix of §8.2

const HEADLESS: {
	name: string;
	bind: BindHeader;
	hasUI: boolean;
	setTheme: string;
	frames: string[];
	dialogs: boolean;
}[] = [
	{
		name: "rpc",
		bind: { ...RPC, ui: { flavor: "rpc", custom: "undefined" } },
		hasUI: true,
		setTheme: "Theme switching not supported in RPC mode",
		frames: ["notify", "setStatus", "setWidget", "setTitle", "setEditorText", "pasteToEditor"],
		dialogs: true,
	},
	{
		name: "acp",
		bind: { mode: "rpc", hasUI: true, ui: { flavor: "acp" } },
		hasUI: true,
		setTheme: "Theme changes are unavailable in ACP mode",
		frames: ["notify", "setStatus"],
		dialogs: true,
	},
	{
		name: "background",
		bind: { mode: "tui", hasUI: true, ui: { flavor: "background" } },
		hasUI: true,
		setTheme: "Background mode",
		frames: [],
		dialogs: false,
	},
	{
		name: "print",
		bind: { mode: "print", hasUI: false },
		hasUI: false,
		setTheme: "UI not available",
		frames: [],
		dialogs: false,
	},
	{
		name: "json",
		bind: { mode: "json", hasUI: false },
		hasUI: false,
		setTheme: "UI not available",
		frames: [],
		dialogs: false,
	},
];

for (const column of HEADLESS) {
	test(`matrix: every method in ${column.name}`, async () => {
		const { host, ctx, ui: u } = await ui(column.bind);
		host.async["ui.dialog"] = ({ method }: Any) => (method === "confirm" ? { confirmed: true } : { value: "answer" });
		assert.equal(ctx.hasUI, column.hasUI);
		assert.equal(await u.select("t", ["a"]), column.dialogs ? "answer" : undefined);
		assert.equal(await u.input("t"), column.dialogs ? "answer" : undefined);
		assert.equal(await u.editor("t"), column.dialogs ? "answer" : undefined);
		assert.equal(await u.confirm("t", "m"), column.dialogs);
		assert.equal(host.named("ui.dialog").length, column.dialogs ? 4 : 0);

		assert.equal(u.notify("m"), undefined);
		assert.equal(u.setStatus("k", "t"), undefined);
		assert.equal(u.setWidget("k", ["l"]), undefined);
		assert.equal(u.setTitle("t"), undefined);
		assert.equal(u.setEditorText("t"), undefined);
		assert.equal(u.pasteToEditor("t"), undefined);
		assert.deepEqual(
			host.named("ui").map((f: Any) => f.method),
			column.frames,
		);
		host.calls.length = 0;

		const factory = () => ({ render: () => [], invalidate() {} });
		assert.equal(u.getEditorText(), "");
		assert.equal(await u.custom(factory), undefined);
		const off = u.onTerminalInput(() => undefined);
		assert.equal(off(), undefined);
		assert.equal(u.setWorkingMessage("m"), undefined);
		assert.equal(u.setWorkingMessage(), undefined);
		assert.equal(u.setWorkingVisible(true), undefined);
		assert.equal(u.setWorkingIndicator({ frames: [] }), undefined);
		assert.equal(u.setHiddenThinkingLabel("x"), undefined);
		for (const method of ["setHeader", "setFooter", "setEditorComponent", "addAutocompleteProvider"]) {
			assert.equal(u[method](factory), undefined);
			assert.equal(u[method](undefined), undefined);
		}
		assert.equal(u.setWidget("k", factory), undefined);
		assert.equal(u.getEditorComponent(), undefined);
		assert.equal(u.setToolsExpanded(true), undefined);
		assert.equal(u.getToolsExpanded(), false);
		assert.ok(host.named("ui").every((f: Any) => f.method === "unsupported"));
		if (column.name !== "rpc") assert.equal(host.named("ui").length, 0);

		assert.ok(u.theme instanceof Theme);
		assert.match(u.theme.fg("dim", "x"), /x/);
		assert.deepEqual([...u.getAllThemes()], []);
		assert.deepEqual(await u.getAllThemes(), []);
		assert.equal(u.getTheme("dark"), undefined);
		assert.equal(await u.getTheme("dark"), undefined);
		const refusal = { success: false, error: column.setTheme };
		assert.equal(JSON.stringify(u.setTheme("light")), JSON.stringify(refusal));
		assert.deepEqual(await u.setTheme("light"), refusal);
		assert.deepEqual(await u.setTheme(u.theme), refusal);
		assert.equal(host.named("uiState").length, 0);
	});
}

test("matrix: a terminal gets every frame and answers state", async () => {
	const { host, ui: u } = await ui(TUI);
	host.sync.uiState = ({ what }: Any) =>
		({ editorText: "draft", toolsExpanded: true, themes: [{ name: "dark" }, { name: "mine" }] })[what as string];
	host.sync.ui = ({ method, name }: Any) =>
		method === "setTheme" ? { success: name !== "no", error: "Theme not found: no" } : undefined;
	u.setWorkingMessage("busy");
	u.setWorkingVisible(false);
	u.setWorkingIndicator({ frames: ["a"], intervalMs: 5 });
	u.setHiddenThinkingLabel("…");
	u.setToolsExpanded(true);
	u.notify("n");
	u.setTitle("t");
	assert.deepEqual(
		host.named("ui").map((f: Any) => f.method),
		[
			"setWorkingMessage",
			"setWorkingVisible",
			"setWorkingIndicator",
			"setHiddenThinkingLabel",
			"setToolsExpanded",
			"notify",
			"setTitle",
		],
	);
	assert.equal(u.getEditorText(), "draft");
	assert.equal(u.getToolsExpanded(), true);
	assert.deepEqual(
		u.getAllThemes().map((t: Any) => t.name),
		["dark", "mine"],
	);
	assert.deepEqual(
		(await u.getAllThemes()).map((t: Any) => t.name),
		["dark", "mine"],
	);
	assert.ok(u.getTheme("light") instanceof Theme);
	assert.match(u.getTheme("light").fg("accent", "x"), /x/);
	assert.equal((await u.getTheme("light")).name, "light");
	assert.equal(u.getTheme("none"), undefined);
	assert.equal(u.setTheme("light").success, true);
	assert.equal(u.theme.name, "light");
	assert.deepEqual(await u.setTheme("no"), { success: false, error: "Theme not found: no" });
	assert.equal((await u.setTheme(u.getTheme("dark"))).success, true);
	assert.equal(u.theme.name, "dark");
	const xcsh = await ui(TUI, "xcsh");
	assert.deepEqual(await xcsh.ui.setTheme(xcsh.ui.theme), {
		success: false,
		error: "Direct theme object not supported",
	});
});

test("before binding the UI object exists and does nothing", async () => {
	const { host } = fixture();
	const { createContext, contextEnv } = await import("../../src/api/context.ts");
	const { currentRuntime } = await import("../../src/api/runtime.ts");
	const { load } = await import("./fake-host.ts");
	await load(host, () => {});
	const runtime = currentRuntime();
	const ctx: Any = createContext(contextEnv(runtime, runtime.record(1), undefined));
	ctx.ui.notify("x");
	assert.equal(await ctx.ui.confirm("t", "m"), false);
	assert.equal(ctx.hasUI, false);
	assert.equal(host.calls.length, 0);
});
