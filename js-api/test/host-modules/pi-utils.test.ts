// The utility module of the oh-my-pi and xcsh editions.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as utils from "../../src/host-modules/pi-utils/index.ts";

test("numbers, sizes and times", () => {
	assert.deepEqual([5, 999, 4200, 65_000, 120_000, 7_500_000, 100_000_000].map(utils.formatDuration), [
		"5ms",
		"999ms",
		"4.2s",
		"1m5s",
		"2m",
		"2h5m",
		"1d3h",
	]);
	assert.deepEqual([512, 1536, 3 * 2 ** 30].map(utils.formatBytes), ["512B", "1.5KB", "3.0GB"]);
	assert.deepEqual([999, 1234, 25_000, 3_400_000].map(utils.formatNumber), ["999", "1.2K", "25K", "3.4M"]);
	assert.deepEqual(
		[utils.formatCount("file", 1), utils.formatCount("match", 2), utils.pluralize("entry", 3)],
		["1 file", "2 matches", "entries"],
	);
	assert.equal(utils.truncate("abcdef", 4), "abc…");
	assert.equal(utils.truncate("a😀b", 3, "~"), "a~");
	assert.equal(utils.truncate("abc", 3), "abc");
});

test("sleeping and waiting end with the signal", async () => {
	const controller = new AbortController();
	const reason = new Error("enough");
	setTimeout(() => controller.abort(reason), 10);
	await assert.rejects(utils.abortableSleep(60_000, controller.signal), reason);
	await assert.rejects(utils.abortableSleep(1, controller.signal), reason);
	await utils.abortableSleep(1);
	await assert.rejects(
		utils.untilAborted(controller.signal, () => Promise.resolve(1)),
		reason,
	);
	assert.equal(await utils.untilAborted(undefined, () => 2), 2);
	assert.equal(await utils.untilAborted(Promise.resolve(3), new AbortController().signal), 3);
});

test("once runs once", () => {
	let count = 0;
	const next = utils.once(() => ++count);
	assert.deepEqual([next(), next()], [1, 1]);
});

test("environment and errors", () => {
	process.env.PIER_TEST_FLAG = "off";
	assert.equal(utils.$flag("PIER_TEST_FLAG"), false);
	process.env.PIER_TEST_FLAG = "1";
	assert.equal(utils.$flag("PIER_TEST_FLAG"), true);
	assert.equal(utils.$env.PIER_TEST_FLAG, "1");
	assert.ok("PIER_TEST_FLAG" in { ...utils.$env });
	delete process.env.PIER_TEST_FLAG;
	assert.equal(utils.$flag("PIER_TEST_FLAG", true), true);
	assert.equal(utils.isEnoent(Object.assign(new Error("x"), { code: "ENOENT" })), true);
	assert.equal(utils.isEnoent(new Error("x")), false);
});

test("snowflakes sort by time and tell it", () => {
	const now = 1_800_000_000_000;
	const ids = [utils.Snowflake.next(now), utils.Snowflake.next(now), utils.Snowflake.next(now + 1)];
	assert.deepEqual([...ids].sort(), ids);
	assert.equal(new Set(ids).size, 3);
	assert.equal(utils.Snowflake.getTimestamp(ids[0] ?? ""), now);
	assert.throws(() => utils.Snowflake.getTimestamp("nope"), TypeError);
});

test("templates lose the indentation of the source", () => {
	assert.equal(
		utils.t`
			first
			  second ${1}
		`,
		"first\n  second 1",
	);
});
