// Framing (docs/rpc.md, "Records").

import assert from "node:assert/strict";
import { test } from "node:test";
import { LineSplitter, parseRecord } from "../../src/client/lines.js";

function split(chunks: (Uint8Array | string)[]): string[] {
	const lines = new LineSplitter();
	return chunks.flatMap((chunk) => [...lines.push(chunk)].map(String));
}

test("a line ends at LF and at nothing else", () => {
	const odd = "a\u2028b\u2029c\u0085d\u000be\u000cf\rg";
	assert.deepEqual(split([`${odd}\nsecond\n\nthi`, "rd\nrest"]), [odd, "second", "", "third"]);
});

test("characters may be cut anywhere", () => {
	const text = "größer 😀 \u2028";
	const bytes = Buffer.from(`${text}\n${text}\n`);
	assert.deepEqual(split([...bytes].map((byte) => Uint8Array.of(byte))), [text, text]);
});

test("what follows the last LF is kept until the end", () => {
	const lines = new LineSplitter();
	assert.deepEqual([...lines.push("one\ntw")].map(String), ["one"]);
	assert.deepEqual([...lines.push("o")], []);
	assert.equal(String(lines.end()), "two");
	assert.equal(lines.end(), undefined);
});

test("a long line in small chunks costs what its length costs", () => {
	// Copying what is there with each chunk would move half a terabyte.
	const chunk = Buffer.alloc(1024, "x");
	const lines = new LineSplitter();
	for (let count = 0; count < 32_768; count++) assert.deepEqual([...lines.push(chunk)], []);
	const [line] = [...lines.push("\n")];
	assert.equal(line?.length, 32 * 1024 * 1024);
});

test("a record is an object with a type", () => {
	assert.deepEqual(parseRecord(Buffer.from('{"type":"ready","version":"1"}\r')), { type: "ready", version: "1" });
	for (const line of ["", "no JSON", "null", "[]", "4", "{}", '{"type":5}']) {
		assert.throws(() => parseRecord(Buffer.from(line)), SyntaxError, line);
	}
});
