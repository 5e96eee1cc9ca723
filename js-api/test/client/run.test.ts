// One prompt and all that follows from it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PierCommandError, PierRunError, PierTimeoutError } from "../../src/client/index.js";
import { answerMessage, FakePier } from "./fake-pier.ts";

test("a prompt that starts a run resolves when the run has settled", async () => {
	const pier = new FakePier();
	const running = pier.client.promptAndWait("go", { streamingBehavior: "steer" });
	const { id, streamingBehavior } = await pier.next("prompt");
	assert.equal(streamingBehavior, "steer");
	// All of it in one chunk; what comes before the response belongs to another run.
	const records = [
		{ type: "message_end", message: answerMessage("of the run before") },
		{ type: "agent_settled", aborted: true },
		{ id, type: "response", command: "prompt", success: true, data: { disposition: "started" } },
		{ type: "agent_start" },
		{ type: "message_end", message: { role: "user", content: "go", timestamp: 0 } },
		{ type: "message_end", message: answerMessage("first") },
		{ type: "agent_end", messages: [], willRetry: true },
		{ type: "message_end", message: answerMessage("second") },
		{ type: "agent_settled", aborted: false },
		{ type: "message_end", message: answerMessage("of the run after") },
	];
	pier.raw(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
	const result = await running;
	assert.deepEqual([result.disposition, result.text, result.aborted], ["started", "second", false]);
	assert.deepEqual(
		result.messages.map((message) => message.role),
		["user", "assistant", "assistant"],
	);
});

test("a queued prompt waits for the run that it joins", async () => {
	const pier = new FakePier();
	const running = pier.client.promptAndWait("also");
	await pier.answer("prompt", { disposition: "queued" });
	await pier.answer("get_state", { isStreaming: true });
	pier.send({ type: "message_end", message: answerMessage("both") });
	pier.send({ type: "agent_settled", aborted: true });
	const { disposition, text, aborted } = await running;
	assert.deepEqual([disposition, text, aborted], ["queued", "both", true]);
});

test("an extension command that starts no run resolves at once", async () => {
	const pier = new FakePier();
	const running = pier.client.promptAndWait("/status");
	await pier.answer("prompt", { disposition: "handled" });
	await pier.answer("get_state", { isStreaming: false });
	assert.deepEqual(await running, { disposition: "handled", text: "", messages: [], aborted: false });
});

test("an extension command whose run is over already gives what that run said", async () => {
	const pier = new FakePier();
	const running = pier.client.promptAndWait("/review");
	const { id } = await pier.next("prompt");
	pier.send({ type: "message_end", message: answerMessage("reviewed") });
	pier.send({ type: "agent_settled", aborted: false });
	pier.send({ id, type: "response", command: "prompt", success: true, data: { disposition: "handled" } });
	await pier.answer("get_state", { isStreaming: false });
	assert.equal((await running).text, "reviewed");
});

test("refusals and failures of the model reject", async () => {
	const pier = new FakePier();
	const refused = pier.client.promptAndWait("go");
	const { id } = await pier.next("prompt");
	pier.send({ id, type: "response", command: "prompt", success: false, error: "busy" });
	await assert.rejects(refused, PierCommandError);
	const failing = pier.client.promptAndWait("go");
	await pier.answer("prompt", { disposition: "started" });
	const message = answerMessage("half", { stopReason: "error", errorMessage: "overloaded" });
	pier.send({ type: "message_end", message });
	pier.send({ type: "agent_settled", aborted: false });
	await assert.rejects(failing, (error) => {
		assert.ok(error instanceof PierRunError);
		assert.deepEqual([error.message, error.answer], ["overloaded", message]);
		return true;
	});
});

test("a time limit and a signal abort the run", async () => {
	const pier = new FakePier();
	const late = pier.client.promptAndWait("go", { timeout: 20 });
	const outcome = assert.rejects(late, PierTimeoutError);
	await pier.answer("prompt", { disposition: "started" });
	await pier.answer("abort");
	await outcome;
	const controller = new AbortController();
	const stopped = pier.client.promptAndWait("go", { signal: controller.signal });
	await pier.answer("prompt", { disposition: "started" });
	controller.abort(new Error("the user left"));
	const end = assert.rejects(stopped, /the user left/);
	await pier.answer("abort");
	await end;
	// What was given up before it began is not sent.
	await assert.rejects(pier.client.promptAndWait("go", { signal: controller.signal }), /the user left/);
	const next = pier.client.send("abort_retry", {}, { timeout: undefined });
	await pier.answer("abort_retry");
	await next;
});
