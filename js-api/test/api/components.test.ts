// Components drawn by the frontend (§8.1 `custom`, widgets, header, footer; bridge protocol "Components").

import assert from "node:assert/strict";
import { test } from "node:test";
import type { BindHeader } from "../../src/api/protocol.ts";
import { type Any, commandContext, fixture, until } from "./fake-host.ts";

const BIND: BindHeader = { mode: "rpc", hasUI: true, ui: { flavor: "rpc", components: true, columns: 40, rows: 10 } };

async function ui() {
	const { host, runtime } = fixture();
	let closeDialog: (answer: unknown) => void = () => {};
	host.async["ui.dialog"] = () =>
		new Promise((resolve) => {
			closeDialog = resolve;
		});
	const { ctx } = await commandContext(host, { bind: BIND });
	const call = (header: object) => host.send("component", header);
	const shown = async () => {
		await until(() => host.named("ui.dialog").length > 0);
		return host.named("ui.dialog").at(-1);
	};
	return { host, runtime, ui: ctx.ui, call, shown, closeDialog: (answer: unknown) => closeDialog(answer) };
}

class Counter {
	count = 0;
	disposed = 0;
	tui: Any;
	constructor(tui: Any) {
		this.tui = tui;
	}
	render(width: number): string[] {
		return [`${this.count}/${width}/${this.tui.terminal.rows}`];
	}
	handleInput(data: string): void {
		if (data === "+") this.count++;
	}
	invalidate(): void {}
	dispose(): void {
		this.disposed++;
	}
}

test("custom: render, input, invalidate, done; the value stays in the isolate", async () => {
	const { host, runtime, ui: u, call, shown } = await ui();
	let counter: Counter | undefined;
	let finish: (value: unknown) => void = () => {};
	const value = { rich: () => "function" };
	const pending = u.custom(
		async (tui: Any, theme: Any, keybindings: Any, done: Any) => {
			assert.equal(typeof theme.fg, "function");
			assert.equal(typeof keybindings.matches, "function");
			finish = done;
			counter = new Counter(tui);
			return counter;
		},
		{ overlay: true, overlayOptions: () => ({ width: "50%" }) },
	);
	const dialog = await shown();
	const { handle } = dialog.component;
	assert.deepEqual([dialog.method, dialog.overlay, dialog.options], ["custom", true, { width: "50%" }]);
	assert.deepEqual(await call({ handle, op: "render", width: 30, height: 5 }), { lines: ["0/30/5"] });
	await call({ handle, op: "input", data: "+" });
	await call({ handle, op: "input", data: "+" });
	assert.deepEqual(
		host.named("ui"),
		[{ ext: 1, method: "invalidate", component: { ext: 1, handle } }],
		"announced once until the next frame",
	);
	assert.deepEqual(await call({ handle, op: "render", width: 30 }), { lines: ["2/30/5"] });
	counter?.tui.requestRender();
	assert.equal(host.named("ui").length, 2);
	finish(value);
	finish("second call");
	assert.equal(await pending, value);
	assert.equal(counter?.disposed, 1);
	assert.deepEqual(host.named("ui.cancelDialog"), [{ dialogId: dialog.dialogId, reason: "done" }]);
	assert.equal(runtime.components.size, 0);
	assert.equal(await call({ handle, op: "render", width: 3 }), undefined);
	counter?.tui.requestRender();
	assert.equal(host.named("ui").length, 2, "a closed component is silent");
});

test("the host closes a component: undefined, disposed once", async () => {
	for (const how of ["answer", "close"] as const) {
		const { ui: u, call, shown, closeDialog, runtime } = await ui();
		let counter: Counter | undefined;
		const pending = u.custom((tui: Any) => {
			counter = new Counter(tui);
			return counter;
		});
		const { component } = await shown();
		if (how === "answer") closeDialog({ cancelled: true });
		else await call({ handle: component.handle, op: "close" });
		assert.equal(await pending, undefined);
		assert.equal(counter?.disposed, 1);
		assert.equal(runtime.components.size, 0);
	}
});

test("a factory that rejects or returns no component rejects, and leaves nothing mounted", async () => {
	const { ui: u, runtime } = await ui();
	await assert.rejects(
		u.custom(async () => {
			throw new Error("cannot build");
		}),
		/cannot build/,
	);
	await assert.rejects(
		u.custom(() => ({})),
		/factory must return a component with a render method, got an object/,
	);
	assert.equal(runtime.components.size, 0);
});

test("factories with three parameters get a done that is also a keybinding manager", async () => {
	const { runtime, ui: u, shown } = await ui();
	class Manager {
		matches(data: string, id: string): boolean {
			return `${data}:${id}` === "\r:tui.select.confirm";
		}
		getKeys(): string[] {
			return ["enter"];
		}
	}
	runtime.namespaces.pi = { KeybindingsManager: Manager };
	const old = u.custom((tui: Any, _theme: Any, done: Any) => {
		setImmediate(() => done("closed"));
		return new Counter(tui);
	});
	await shown();
	assert.equal(await old, "closed");
	let matched: unknown;
	const newer = u.custom((tui: Any, _theme: Any, keybindings: Any) => {
		matched = [keybindings.matches("\r", "tui.select.confirm"), keybindings.getKeys("x")];
		setImmediate(() => keybindings());
		return new Counter(tui);
	});
	assert.equal(await newer, undefined);
	assert.deepEqual(matched, [true, ["enter"]]);
});

test("done before the factory returned still closes", async () => {
	const { ui: u } = await ui();
	const value = await u.custom((tui: Any, _t: Any, _k: Any, done: Any) => {
		done("early");
		return new Counter(tui);
	});
	assert.equal(value, "early");
});

test("focus moves input, listeners filter it, the cursor marker becomes a position", async () => {
	const { ui: u, call, shown } = await ui();
	const seen: string[] = [];
	void u.custom((tui: Any) => {
		const child = { render: () => [], handleInput: (data: string) => seen.push(data), focused: false };
		tui.setFocus(child);
		tui.addInputListener((data: string) => (data === "x" ? { consume: true } : { data: data.toUpperCase() }));
		return { render: () => ["head", `ab\x1b_pi:c\x07cd`], invalidate() {} };
	});
	const { handle } = (await shown()).component;
	await call({ handle, op: "input", data: "x" });
	await call({ handle, op: "input", data: "y" });
	assert.deepEqual(seen, ["Y"]);
	assert.deepEqual(await call({ handle, op: "render", width: 9 }), {
		lines: ["head", "abcd"],
		cursor: { row: 1, column: 2 },
	});
});

test("widgets, header and footer carry components; a slot set again disposes what was there", async () => {
	const { host, runtime, ui: u, call } = await ui();
	const made: Counter[] = [];
	const factory = (tui: Any) => {
		const counter = new Counter(tui);
		made.push(counter);
		return counter;
	};
	u.setWidget("w", factory, { placement: "belowEditor" });
	const [frame] = host.named("ui");
	assert.deepEqual([frame.method, frame.widgetKey, frame.widgetPlacement], ["setWidget", "w", "belowEditor"]);
	assert.deepEqual(await call({ handle: frame.component.handle, op: "render", width: 12 }), { lines: ["0/12/10"] });
	u.setWidget("w", ["lines"]);
	assert.equal(made[0]?.disposed, 1);
	assert.deepEqual(host.named("ui").at(-1).widgetLines, ["lines"]);
	u.setFooter((tui: Any, theme: Any, data: Any) => {
		assert.ok(theme.fg && data.getExtensionStatuses() instanceof Map);
		assert.equal(data.getGitBranch(), null);
		return factory(tui);
	});
	u.setFooter(undefined);
	assert.equal(made[1]?.disposed, 1);
	assert.deepEqual(
		host
			.named("ui")
			.slice(-2)
			.map((f: Any) => [f.method, "component" in f]),
		[
			["setFooter", true],
			["setFooter", false],
		],
	);
	assert.equal(runtime.components.size, 0);
	assert.throws(() => u.setWidget("bad", () => 5), /factory must return a component/);
});

test("overlays shown by a component", async () => {
	const { host, ui: u, shown } = await ui();
	let handle: Any;
	void u.custom((tui: Any) => {
		handle = tui.showOverlay(new Counter(tui), { anchor: "center" });
		assert.ok(tui.hasOverlay());
		return new Counter(tui);
	});
	await until(() => host.named("ui.dialog").length === 2);
	await shown();
	assert.deepEqual(host.named("ui.dialog")[0].options, { anchor: "center" });
	handle.setHidden(true);
	assert.equal(handle.isHidden(), true);
	assert.deepEqual(host.named("ui").at(-1), {
		ext: 1,
		method: "overlay",
		component: host.named("ui.dialog")[0].component,
		hidden: true,
	});
	handle.hide();
	assert.equal(host.named("ui.cancelDialog")[0].dialogId, host.named("ui.dialog")[0].dialogId);
});

test("a component whose dispose throws is reported and closed all the same", async () => {
	const { host, ui: u } = await ui();
	const value = await u.custom((_tui: Any, _t: Any, _k: Any, done: Any) => {
		setImmediate(() => done(1));
		return {
			render: () => [],
			invalidate() {},
			dispose() {
				throw new Error("dispose failed");
			},
		};
	});
	assert.equal(value, 1);
	assert.equal(host.named("error")[0].message, "dispose failed");
});
