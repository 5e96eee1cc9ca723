// Arguments of a tool call while they stream.

import assert from "node:assert/strict";
import { test } from "node:test";
import { partialObject } from "../../src/api/partial-json.ts";

test("what has arrived is there, what has not begun is not", () => {
	for (const [text, value] of [
		["", {}],
		["{", {}],
		['{"pa', {}],
		['{"path"', {}],
		['{"path":', {}],
		['{"path": "no', { path: "no" }],
		['{"path": "a\\', { path: "a" }],
		['{"path": "a\\\\', { path: "a\\" }],
		['{"path": "a\\u00', { path: "a" }],
		['{"path": "note.txt"', { path: "note.txt" }],
		['{"path": "note.txt", "li', { path: "note.txt" }],
		['{"n": 12', { n: 12 }],
		['{"n": 12.', { n: 12 }],
		['{"n": -', {}],
		['{"n": 1e', { n: 1 }],
		['{"ok": tr', { ok: true }],
		['{"list": [1, 2', { list: [1, 2] }],
		['{"list": [1, {"a": "b', { list: [1, { a: "b" }] }],
		['{"list": ["x", ', { list: ["x"] }],
		['{"a": {"b": 1}, "c', { a: { b: 1 } }],
		['{"a": "}]\\"', { a: '}]"' }],
		['{"a": 1} and more', { a: 1 }],
		["[1, 2]", {}],
		["nonsense", {}],
		['{"a": nonsense', {}],
	] as const) {
		assert.deepEqual(partialObject(text), value, text);
	}
});

test("every beginning of a text gives an object", () => {
	const text = JSON.stringify({
		path: 'a "quoted" \\ name',
		edits: [{ old: "x\n", new: "ü\u2028" }],
		n: -1.5e-3,
		t: true,
		z: null,
	});
	for (let end = 0; end <= text.length; end++) assert.equal(typeof partialObject(text.slice(0, end)), "object");
	assert.deepEqual(partialObject(text), JSON.parse(text));
});
