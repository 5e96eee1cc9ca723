// Commands: matching responses, failures, bounds, order and back-pressure.

import assert from "node:assert/strict";
import { PassThrough, Writable } from "node:stream";
import { test } from "node:test";
import {
	PierClient,
	PierClosedError,
	PierCommandError,
	PierTimeoutError,
	streamTransport,
} from "../../src/client/index.js";
import { type Any, FakePier } from "./fake-pier.ts";

test("responses are matched by id, in any order", async () => {
	const pier = new FakePier();
	const first = pier.client.send("get_last_assistant_text");
	const second = pier.client.send("set_model", { provider: "p", modelId: "m" });
	const [a, b] = [await pier.next("get_last_assistant_text"), await pier.next("set_model")];
	assert.deepEqual([b.provider, b.modelId], ["p", "m"]);
	pier.send({ id: b.id, type: "response", command: "set_model", success: true, data: { id: "m" } });
	pier.send({ id: a.id, type: "response", command: "get_last_assistant_text", success: true, data: { text: "t" } });
	assert.equal((await second).id, "m");
	assert.equal((await first).text, "t");
});

test("a refused command rejects with what the response says", async () => {
	const { client, ...pier } = withNext(new FakePier());
	const failing = client.prompt("/broken");
	const { id } = await pier.next("prompt");
	pier.send({ id, type: "response", command: "prompt", success: false, error: "no", data: { disposition: "handled" } });
	await assert.rejects(failing, (error) => {
		assert.ok(error instanceof PierCommandError);
		assert.deepEqual(
			[error.name, error.command, error.id, error.message, error.data],
			["PierCommandError", "prompt", id, "no", { disposition: "handled" }],
		);
		return true;
	});
});

test("a wait ends with its time or its signal, and a late response harms nothing", async () => {
	const pier = new FakePier({ timeout: 20 });
	await assert.rejects(pier.client.send("get_state", {}, { timeout: undefined }), PierTimeoutError);
	const { id } = await pier.next("get_state");
	pier.send({ id, type: "response", command: "get_state", success: true, data: {} });
	const controller = new AbortController();
	const slow = pier.client.send("compact", {}, { signal: controller.signal });
	await pier.next("compact");
	controller.abort(new Error("enough"));
	await assert.rejects(slow, /enough/);
	await assert.rejects(pier.client.send("get_state", {}, { signal: controller.signal }), /enough/);
	await pier.handled();
	assert.deepEqual(pier.errors, []);
	// What was given up before it began was never sent.
	const state = pier.client.send("get_messages");
	await pier.answer("get_messages", { messages: [] });
	assert.deepEqual(await state, { messages: [] });
});

test("commands that take their time have no limit unless the caller sets one", async () => {
	const pier = new FakePier({ timeout: 10 });
	const running = pier.client.bash("sleep");
	const { id } = await pier.next("bash");
	await assert.rejects(pier.client.send("get_state"), PierTimeoutError);
	pier.send({ id, type: "response", command: "bash", success: true, data: { output: "", cancelled: false } });
	assert.equal((await running).cancelled, false);
	await pier.next("get_state");
	await assert.rejects(pier.client.bash("sleep", { timeout: 10 }), PierTimeoutError);
});

test("output of a shell command goes to the caller of that command", async () => {
	const pier = new FakePier();
	const printed: string[] = [];
	const running = pier.client.bash("x", { onOutput: (text) => printed.push(text), excludeFromContext: true });
	const { id, excludeFromContext } = await pier.next("bash");
	assert.equal(excludeFromContext, true);
	pier.send({ type: "bash_execution_update", id, delta: "a" });
	pier.send({ type: "bash_execution_update", id: "other", delta: "b" });
	pier.send({ id, type: "response", command: "bash", success: true, data: { output: "a", exitCode: 0 } });
	await running;
	pier.send({ type: "bash_execution_update", id, delta: "c" });
	await pier.handled();
	assert.deepEqual(printed, ["a"]);
});

test("a failure that belongs to no command is reported", async () => {
	const pier = new FakePier();
	pier.send({ type: "response", command: "parse", success: false, error: "bad line" });
	await pier.handled();
	assert.ok(pier.errors[0] instanceof PierCommandError);
	assert.deepEqual([pier.errors.length, pier.errors[0].message], [1, "bad line"]);
});

test("a line that is no record is reported, and the next one is handled", async () => {
	const pier = new FakePier();
	pier.raw("Segmentation fault\n[1]\n");
	await pier.handled();
	assert.equal(pier.errors.length, 2);
	assert.match(pier.errors[0]?.message ?? "", /Segmentation fault/);
});

test("without a listener for errors they become warnings", async () => {
	const output = new PassThrough();
	const client = new PierClient(streamTransport(output, new PassThrough()));
	const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
	output.write("no record\n");
	assert.match((await warned).message, /no record/);
	await client.close({ timeout: 0 });
});

test("a listener that fails is reported, and the others are called", async () => {
	const pier = new FakePier();
	const seen: string[] = [];
	pier.client.on("agent_start", () => {
		throw new Error("at once");
	});
	pier.client.on("agent_start", async () => {
		throw new Error("later");
	});
	const stop = pier.client.on("agent_start", ({ type }) => seen.push(type));
	pier.send({ type: "agent_start" });
	await pier.handled();
	stop();
	pier.send({ type: "agent_start" });
	await pier.handled();
	assert.deepEqual(seen, ["agent_start"]);
	assert.deepEqual(pier.errors.map((error) => error.message).sort(), ["at once", "at once", "later", "later"]);
});

test("the end of the connection rejects everything that waits, and everything later", async () => {
	const pier = new FakePier();
	const closed: Error[] = [];
	pier.client.on("closed", (error) => closed.push(error));
	const waits = [pier.client.send("get_state"), pier.client.waitFor("agent_end"), pier.client.promptAndWait("x")];
	const all = Promise.allSettled(waits);
	pier.vanish();
	for (const result of await all) {
		assert.ok(result.status === "rejected" && result.reason instanceof PierClosedError);
	}
	await assert.rejects(pier.client.send("get_state"), PierClosedError);
	await assert.rejects(pier.client.waitFor("agent_end"), PierClosedError);
	await assert.rejects(pier.client.promptAndWait("x"), PierClosedError);
	assert.deepEqual(closed, [pier.client.closed]);
	await pier.client.close();
});

test("close lets what was sent be read first", async () => {
	const pier = new FakePier();
	const last = pier.client.send("set_session_name", { name: "n" });
	const closing = pier.client.close();
	assert.equal((await pier.next()).name, "n");
	await assert.rejects(last, /The client was closed/);
	await assert.rejects(pier.client.send("get_state"), /The client was closed/);
	assert.deepEqual(await closing, { code: null, signal: null, stderr: "" });
	assert.equal(pier.client.close(), pier.client.close());
});

test("a record is written when the one before it was taken", async () => {
	const taken: (() => void)[] = [];
	const written: Any[] = [];
	const slow = new Writable({
		write(chunk, _encoding, done) {
			written.push(JSON.parse(String(chunk)));
			taken.push(done);
		},
		highWaterMark: 1,
	});
	const client = new PierClient(streamTransport(new PassThrough(), slow));
	const names = ["a", "b", "c"];
	const waits = names.map((name) => client.send("set_session_name", { name }).catch(() => undefined));
	for (let count = 1; count <= names.length; count++) {
		while (written.length < count) await new Promise((resolve) => setImmediate(resolve));
		await new Promise((resolve) => setImmediate(resolve));
		assert.equal(written.length, count);
		// The stream holds that record and none of those that wait.
		assert.equal(slow.writableLength, `${JSON.stringify(written.at(-1))}\n`.length);
		taken.shift()?.();
	}
	assert.deepEqual(
		written.map((record) => record.name),
		names,
	);
	await client.close({ timeout: 0 });
	await Promise.all(waits);
});

test("an input that breaks ends the waits although the output stays open", async () => {
	const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error("EPIPE")) });
	const client = new PierClient(streamTransport(new PassThrough(), broken));
	await assert.rejects(client.send("get_state"), (error) => {
		assert.ok(error instanceof PierClosedError);
		assert.match(error.message, /does not read its input/);
		assert.match(String(error.cause), /EPIPE/);
		return true;
	});
	await client.close({ timeout: 0 });
});

function withNext(pier: FakePier) {
	return { client: pier.client, next: pier.next.bind(pier), send: pier.send.bind(pier) };
}
