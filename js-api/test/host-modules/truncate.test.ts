// Truncation against the real package, over many generated texts, and the values of the specification.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as real from "../../node_modules/@earendil-works/pi-coding-agent/dist/core/tools/truncate.js";
import * as ours from "../../src/host-modules/coding-agent/truncate.ts";
import { Random } from "./random.ts";

const PIECES = ["a", "bc", "é", "日本", "😀", "\n", "\n\n", "long line of text", "\t", " "];

test("head and tail agree with the real package", () => {
	const random = new Random(7);
	for (let round = 0; round < 3000; round++) {
		const text = random.text(PIECES, 30);
		// With a single line the real one calls a cut by bytes a cut by lines; ours names the limit that decided.
		const options = { maxLines: random.integer(2, 8), maxBytes: random.integer(0, 60) };
		assert.deepEqual(
			ours.truncateHead(text, options),
			real.truncateHead(text, options),
			JSON.stringify({ text, options }),
		);
		assert.deepEqual(
			ours.truncateTail(text, options),
			real.truncateTail(text, options),
			JSON.stringify({ text, options }),
		);
	}
});

test("the default limits agree with the real package", () => {
	for (const text of [
		"x\n".repeat(2000),
		"x\n".repeat(2001),
		"y".repeat(51200),
		"y".repeat(51201),
		// Only the final line feed does not fit.
		`${"y".repeat(51200)}\n`,
		`${"z".repeat(60)}\n`.repeat(1500),
	]) {
		assert.deepEqual(ours.truncateHead(text), real.truncateHead(text));
		assert.deepEqual(ours.truncateTail(text), real.truncateTail(text));
	}
	assert.equal(ours.DEFAULT_MAX_LINES, 2000);
	assert.equal(ours.DEFAULT_MAX_BYTES, 51200);
});

test("a first line over the limit keeps nothing, a last one keeps its end between characters", () => {
	const head = ours.truncateHead("0123456789\nb", { maxBytes: 5 });
	assert.deepEqual([head.content, head.firstLineExceedsLimit, head.truncatedBy], ["", true, "bytes"]);
	const tail = ours.truncateTail("a\n😀😀😀", { maxBytes: 6 });
	assert.deepEqual([tail.content, tail.lastLinePartial, tail.outputBytes], ["😀", true, 4]);
});

test("lines and sizes", () => {
	assert.deepEqual(ours.truncateLine("x".repeat(500)), { text: "x".repeat(500), wasTruncated: false });
	assert.deepEqual(ours.truncateLine("x".repeat(501)), {
		text: `${"x".repeat(500)}... [truncated]`,
		wasTruncated: true,
	});
	for (const size of [0, 512, 1023, 1024, 1536, 51200, 1048575, 1048576, 2097152]) {
		assert.equal(ours.formatSize(size), real.formatSize(size));
	}
	assert.deepEqual([512, 1536, 2097152].map(ours.formatSize), ["512B", "1.5KB", "2.0MB"]);
});
