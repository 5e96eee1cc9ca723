// The component library as the host gives it out: the unions of the editions' signatures.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as tui from "../../src/host-modules/pi-tui/index.ts";

const THEME = {
	borderColor: (text: string) => text,
	selectList: {
		selectedPrefix: (text: string) => text,
		selectedText: (text: string) => text,
		description: (text: string) => text,
		scrollInfo: (text: string) => text,
		noMatch: (text: string) => text,
	},
};

test("truncateToWidth takes pi's string, xcsh's number and null", () => {
	const plain = (text: string) => tui.stripTerminalSequences(text);
	assert.equal(plain(tui.truncateToWidth("abcdefghij", 6)), "abc...");
	assert.equal(plain(tui.truncateToWidth("abcdefghij", 6, "~")), "abcde~");
	assert.equal(plain(tui.truncateToWidth("abcdefghij", 6, tui.Ellipsis.Unicode)), "abcde…");
	assert.equal(plain(tui.truncateToWidth("abcdefghij", 6, tui.Ellipsis.Ascii)), "abc...");
	assert.equal(plain(tui.truncateToWidth("abcdefghij", 6, tui.Ellipsis.Omit)), "abcdef");
	assert.equal(plain(tui.truncateToWidth("abcdefghij", 6, null)), "abcde…");
	assert.equal(tui.visibleWidth(tui.truncateToWidth("ab", 6, "", true)), 6);
});

test("the editor is made from (tui, theme) and from (theme)", () => {
	const requests: string[] = [];
	const screen = { requestRender: () => requests.push("render"), terminal: { rows: 24, columns: 80 } };
	const withScreen = new tui.Editor(screen as never, THEME);
	withScreen.setText("hello");
	assert.equal(withScreen.getText(), "hello");
	const alone = new tui.Editor(THEME);
	alone.insertText("a\nb");
	assert.deepEqual(alone.getLines(), ["a", "b"]);
	assert.ok(alone.render(20).length > 0);
});

test("a masked input shows bullets and keeps its value", () => {
	const input = new tui.Input() as tui.Input & { setMasked(on: boolean): void };
	input.setValue("sécret");
	input.setMasked(true);
	const line = tui.stripTerminalSequences(input.render(30).join(""));
	assert.ok(line.includes("••••••"), line);
	assert.ok(!line.includes("cret"), line);
	assert.equal(input.getValue(), "sécret");
	input.setMasked(false);
	assert.ok(tui.stripTerminalSequences(input.render(30).join("")).includes("cret"));
});

test("replaceTabs fills up to the next stop", () => {
	assert.equal(tui.replaceTabs("a\tb\n\tc", 4), "a   b\n    c");
	assert.equal(tui.replaceTabs("abcd\tx", 4), "abcd    x");
	assert.equal(tui.padding(-2), "");
});

test("a tab bar moves with the arrow keys and wraps around", () => {
	const moves: string[] = [];
	const bar = new tui.TabBar("Tabs:", [
		{ id: "a", label: "A" },
		{ id: "b", label: "B" },
	]);
	bar.onTabChange = (tab) => moves.push(tab.id);
	assert.equal(bar.handleInput("\x1b[C"), true);
	assert.equal(bar.handleInput("\x1b[C"), true);
	assert.equal(bar.handleInput("x"), false);
	assert.deepEqual(moves, ["b", "a"]);
	assert.equal(bar.render(80)[0], "Tabs:  A   B ");
});

test("a horizontal split gives each side its share", () => {
	const split = new tui.HorizontalSplit(new tui.Text("left", 0, 0), new tui.Text("r1\nr2", 0, 0), { separator: "|" });
	const lines = split.render(21).map((line) => tui.stripTerminalSequences(line));
	assert.equal(lines.length, 2);
	assert.match(lines[0] ?? "", /^left {6}\|r1/);
	assert.match(lines[1] ?? "", /^ {10}\|r2/);
});

test("old names of editor keys answer from the current bindings", () => {
	const keys = tui.getEditorKeybindings();
	assert.equal(keys.matches("\x1b[A", "selectUp"), true);
	assert.equal(keys.matches("\x1b[B", "selectUp"), false);
	assert.ok(keys.getKeys("submit").includes("enter"));
});

test("Text.getText and Markdown's indent exist", () => {
	const text = new tui.Text("abc", 0, 0) as tui.Text & { getText(): string };
	assert.equal(text.getText(), "abc");
});
