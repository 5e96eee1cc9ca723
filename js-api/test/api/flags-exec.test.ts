// Flags (§7.3) and `exec` (§2.3).

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Any, bind, fixture, load, until } from "./fake-host.ts";

test("getFlag answers only to the extension that registered the flag", async () => {
	const { host } = fixture();
	let first: Any;
	let second: Any;
	await load(host, (pi) => {
		first = pi;
		pi.registerFlag("mode", { type: "string", default: "a" });
		pi.registerFlag("loud", { type: "boolean" });
		assert.equal(pi.getFlag("mode"), "a", "the default is visible during loading");
	});
	await load(
		host,
		(pi) => {
			second = pi;
		},
		{ ext: 2 },
	);
	assert.equal(second.getFlag("mode"), undefined);
	assert.equal(first.getFlag("loud"), undefined, "a boolean without default is undefined until given");
	await host.send("flags", { values: { mode: "cli", loud: true } });
	assert.equal(first.getFlag("mode"), "cli");
	assert.equal(first.getFlag("loud"), true);
});

test("two defaults of one flag: pi keeps the first, xcsh the last", async () => {
	for (const [profile, expected] of [
		["pi", "one"],
		["xcsh", "two"],
	] as const) {
		const { host } = fixture();
		let api: Any;
		await load(host, (pi) => pi.registerFlag("f", { type: "string", default: "one" }), { profile });
		await load(
			host,
			(pi) => {
				api = pi;
				pi.registerFlag("f", { type: "string", default: "two" });
			},
			{ profile, ext: 2 },
		);
		assert.equal(api.getFlag("f"), expected);
	}
});

test("values known at load win over defaults", async () => {
	const { host } = fixture();
	let api: Any;
	await load(
		host,
		(pi) => {
			api = pi;
			pi.registerFlag("f", { type: "string", default: "default" });
		},
		{ profile: "xcsh", flags: { f: "given" } },
	);
	assert.equal(api.getFlag("f"), "given");
});

const RESULT = { stdout: "out", stderr: "", code: 0, killed: false };

test("exec passes its arguments verbatim, works during loading, defaults to the session directory", async () => {
	const { host } = fixture();
	host.async.exec = () => RESULT;
	await load(host, async (pi) => {
		const { exec } = pi;
		assert.deepEqual(await exec("git", ["status", "a b", "$HOME"]), RESULT);
		await exec("ls", [], { cwd: "/tmp", timeout: 50, maxBuffer: 10 });
	});
	const [first, second] = host.named("exec");
	assert.deepEqual(
		{ ...first, execId: 0 },
		{ ext: 1, execId: 0, command: "git", args: ["status", "a b", "$HOME"], cwd: "/project" },
	);
	assert.deepEqual(
		{ ...second, execId: 0 },
		{ ext: 1, execId: 0, command: "ls", args: [], cwd: "/tmp", timeout: 50, maxBuffer: 10 },
	);
	assert.notEqual(first.execId, second.execId);
});

test("an abort signal cancels the running command and the host's answer is the result", async () => {
	const { host } = fixture();
	let finish: (value: unknown) => void = () => {};
	host.async.exec = () =>
		new Promise((resolve) => {
			finish = resolve;
		});
	host.sync["exec.cancel"] = () => finish({ ...RESULT, code: 143, killed: true });
	let api: Any;
	await load(host, (pi) => {
		api = pi;
	});
	const controller = new AbortController();
	const pending = api.exec("sleep", ["9"], { signal: controller.signal });
	await until(() => host.named("exec").length === 1);
	controller.abort();
	assert.deepEqual(await pending, { ...RESULT, code: 143, killed: true });
	assert.deepEqual(host.named("exec.cancel"), [{ execId: host.named("exec")[0].execId }]);
});

test("a signal that is already aborted starts nothing", async () => {
	const { host } = fixture();
	let api: Any;
	await load(host, (pi) => {
		api = pi;
	});
	const result = await api.exec("sleep", ["9"], { signal: AbortSignal.abort() });
	assert.deepEqual(result, { stdout: "", stderr: "", code: 143, killed: true });
	assert.equal(host.named("exec").length, 0);
});

test("a signal that fires after the command ended cancels nothing", async () => {
	const { host } = fixture();
	host.async.exec = () => RESULT;
	let api: Any;
	await load(host, (pi) => {
		api = pi;
	});
	const controller = new AbortController();
	await api.exec("true", [], { signal: controller.signal });
	controller.abort();
	assert.equal(host.named("exec.cancel").length, 0);
});

test("wrong exec arguments reject with the argument named", async () => {
	const { host } = fixture();
	let api: Any;
	await load(host, (pi) => {
		api = pi;
	});
	await assert.rejects(api.exec(""), /command must be a non-empty string/);
	await assert.rejects(api.exec("a", "b"), /args must be an array of strings, got a string/);
	await assert.rejects(api.exec("a", ["x", 1]), /args\[1\] must be a string, got a number/);
	await assert.rejects(api.exec("a", [], { timeout: "1" }), TypeError);
	await assert.rejects(api.exec("a", [], { maxBuffer: 0 }), RangeError);
	assert.equal(host.named("exec").length, 0);
});

test("exec quotes the call it runs in, across await", async () => {
	const { AsyncLocalStorage } = await import("node:async_hooks");
	const { host, runtime } = fixture();
	runtime.calls.useCarrier(new AsyncLocalStorage<number>());
	host.async.exec = () => RESULT;
	const { handlers } = await load(host, (pi) => {
		pi.on("turn_end", async () => {
			await new Promise((resolve) => setImmediate(resolve));
			await pi.exec("true", []);
		});
	});
	await bind(host);
	await Promise.all(
		[7, 8].map((callId) => host.send("dispatch", { ext: 1, handler: handlers?.[0]?.id, callId }, { type: "turn_end" })),
	);
	assert.deepEqual(
		host
			.named("exec")
			.map((e) => e.callId)
			.sort(),
		[7, 8],
	);
});
