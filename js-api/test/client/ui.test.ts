// Dialogs, things to show, and components.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { CustomComponent, Picture, UiHandlers } from "../../src/client/index.js";
import { type Any, FakePier } from "./fake-pier.ts";

/** A dialog that stays open until its signal fires, and the reason for that. */
function open(): { handlers: UiHandlers; ended: Promise<Error> } {
	const { promise, resolve } = withResolvers<Error>();
	const confirm: UiHandlers["confirm"] = (_request, signal) =>
		new Promise((_, reject) => {
			signal.addEventListener("abort", () => {
				resolve(signal.reason);
				reject(signal.reason);
			});
		});
	return { handlers: { confirm }, ended: promise };
}

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
	let resolve: (value: T) => void = () => undefined;
	const promise = new Promise<T>((given) => {
		resolve = given;
	});
	return { promise, resolve };
}

test("dialogs are answered by the functions of their methods", async () => {
	const pier = new FakePier({
		ui: {
			select: ({ options }) => options[1],
			confirm: async ({ title, message }) => `${title}${message}` === "Sure?Really",
			input: ({ placeholder }) => placeholder,
			editor: ({ prefill }) => `${prefill}!`,
		},
	});
	const given: [string, object, object][] = [
		["select", { options: ["a", "b"] }, { value: "b" }],
		["confirm", { title: "Sure?", message: "Really" }, { confirmed: true }],
		["input", { placeholder: "name" }, { value: "name" }],
		["editor", { prefill: "text" }, { value: "text!" }],
		["input", {}, { cancelled: true }],
	];
	for (const [method, members, answer] of given) {
		pier.ask(method, members);
		assert.deepEqual(await pier.next(), { type: "extension_ui_response", id: method, ...answer });
	}
});

test("a dialog that nobody answers, or whose function fails, is cancelled", async () => {
	const pier = new FakePier({
		ui: {
			confirm: () => {
				throw new Error("no screen");
			},
		},
	});
	for (const method of ["select", "confirm", "custom"]) {
		pier.ask(method, { lines: ["x"] });
		assert.deepEqual(await pier.next(), { type: "extension_ui_response", id: method, cancelled: true });
	}
	assert.deepEqual(
		pier.errors.map((error) => error.message),
		["no screen"],
	);
});

test("a dialog ends with its time, and is not answered any more", async () => {
	const { handlers, ended } = open();
	const pier = new FakePier({ ui: handlers });
	pier.ask("confirm", { title: "Sure?", timeout: 10 });
	assert.match((await ended).message, /"Sure\?" was open for 10 ms/);
	await nothingIsSent(pier);
	assert.deepEqual(pier.errors, []);
});

test("a dialog ends with an abort", async () => {
	const { handlers, ended } = open();
	const pier = new FakePier({ ui: handlers });
	pier.ask("confirm");
	await pier.handled();
	const aborted = pier.client.abort();
	await pier.answer("abort");
	await aborted;
	assert.match((await ended).message, /aborted/);
	await nothingIsSent(pier);
});

test("replacing the session ends the dialogs of the old one only", async () => {
	const opened: string[] = [];
	const ended: string[] = [];
	const pier = new FakePier({
		ui: {
			input: ({ id }, signal) =>
				new Promise(() => {
					opened.push(id);
					signal.addEventListener("abort", () => ended.push(id));
				}),
		},
	});
	const ask = (id: string) => pier.send({ type: "extension_ui_request", id, method: "input", title: "" });
	ask("old");
	await pier.handled();
	const vetoed = pier.client.send("new_session");
	await pier.answer("new_session", { cancelled: true });
	await vetoed;
	assert.deepEqual(ended, []);
	const replaced = pier.client.send("new_session");
	const { id } = await pier.next("new_session");
	ask("new");
	pier.send({ id, type: "response", command: "new_session", success: true, data: { cancelled: false } });
	await replaced;
	assert.deepEqual([opened, ended], [["old", "new"], ["old"]]);
	// The end of Pier ends what is left; so does a notice, in the dialect that has it.
	ask("third");
	pier.send({ type: "extension_ui_request", id: "c", method: "cancel", targetId: "third" });
	await pier.handled();
	pier.vanish();
	await pier.client.close();
	assert.deepEqual(ended, ["old", "third", "new"]);
});

test("what is only shown goes to its function, and a failure there is reported", async () => {
	const shown: Any[] = [];
	const show = (request: Any) =>
		shown.push([request.method, request.statusText ?? request.widgetLines ?? request.text]);
	const pier = new FakePier({
		ui: {
			setStatus: show,
			setWidget: show,
			set_editor_text: show,
			setFooter: show,
			notify: async () => {
				throw new Error("no bell");
			},
		},
	});
	pier.ask("setStatus", { statusKey: "k", statusText: "busy" });
	pier.ask("setWidget", { widgetKey: "k", widgetLines: ["a"] });
	pier.ask("set_editor_text", { text: "t" });
	pier.ask("setFooter");
	pier.ask("setTitle", { title: "nobody shows it" });
	pier.ask("notify", { message: "m" });
	await pier.handled();
	assert.deepEqual(shown, [
		["setStatus", "busy"],
		["setWidget", ["a"]],
		["set_editor_text", "t"],
		["setFooter", undefined],
	]);
	assert.deepEqual(
		pier.errors.map((error) => error.message),
		["no bell"],
	);
});

test("a component: its size is told first, then pictures come and keys go until it is closed", async () => {
	const pictures: Picture[] = [];
	const done = withResolvers<CustomComponent>();
	const pier = new FakePier({
		screen: { columns: 100, rows: 30 },
		ui: {
			async custom(component) {
				for await (const picture of component) {
					pictures.push(picture);
					component.input("\u001b[B");
				}
				done.resolve(component);
			},
		},
	});
	assert.deepEqual(await pier.next(), { type: "extension_ui_resize", columns: 100, rows: 30 });
	pier.ask("custom", { overlay: true, lines: ["one"], cursor: { row: 0, column: 1 } });
	assert.deepEqual(await pier.next(), { type: "extension_ui_input", id: "custom", data: "\u001b[B" });
	// Two pictures in one chunk: the first was replaced before anybody looked.
	const frame = (line: string) =>
		`${JSON.stringify({ type: "extension_ui_request", id: line, method: "frame", targetId: "custom", lines: [line] })}\n`;
	pier.raw(frame("two") + frame("three"));
	await pier.next("extension_ui_input");
	pier.ask("close", { targetId: "custom" });
	const component = await done.promise;
	assert.deepEqual(pictures, [{ lines: ["one"], cursor: { row: 0, column: 1 } }, { lines: ["three"] }]);
	assert.deepEqual([component.overlay, component.signal.aborted, component.picture.lines], [true, true, ["three"]]);
	component.input("x");
	component.close();
	await nothingIsSent(pier);
});

test("a component is closed from this side, by hand or because its function fails", async () => {
	const pier = new FakePier();
	pier.client.onUi({ custom: (component) => component.close() });
	await pier.next("extension_ui_resize");
	pier.ask("custom", { lines: ["x"] });
	assert.deepEqual(await pier.next(), { type: "extension_ui_response", id: "custom", cancelled: true });
	pier.client.onUi({
		custom: async () => {
			throw new Error("cannot draw");
		},
	});
	await pier.next("extension_ui_resize");
	pier.ask("custom", { lines: ["x"] });
	assert.deepEqual(await pier.next(), { type: "extension_ui_response", id: "custom", cancelled: true });
	assert.deepEqual(
		pier.errors.map((error) => error.message),
		["cannot draw"],
	);
});

/** The next record of the client is the one that is asked for now. */
async function nothingIsSent(pier: FakePier): Promise<void> {
	await pier.handled();
	const asked = pier.client.send("clear_queue");
	await pier.answer("clear_queue", { steering: [], followUp: [] });
	await asked;
}
