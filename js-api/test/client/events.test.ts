// Events one by one, and waiting for one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PierTimeoutError } from "../../src/client/index.js";
import { type Any, FakePier } from "./fake-pier.ts";

test("a loop gets every event from the call on, also those that came before it ran", async () => {
	const pier = new FakePier();
	const events = pier.client.events();
	pier.send({ type: "agent_start" });
	pier.send({ type: "of_the_future", value: 1 });
	pier.send({ type: "agent_settled", aborted: false });
	await pier.handled();
	const seen: Any[] = [];
	for await (const event of events) {
		seen.push(event);
		if (event.type === "agent_settled") break;
	}
	assert.deepEqual(
		seen.map((event) => event.type),
		["agent_start", "of_the_future", "agent_settled"],
	);
	assert.deepEqual(await events.next(), { done: true, value: undefined });
});

test("a loop waits for events and may send commands meanwhile", async () => {
	const pier = new FakePier();
	const loop = (async () => {
		for await (const event of pier.client.events()) {
			if (event.type === "agent_settled") return (await pier.client.send("get_last_assistant_text")).text;
		}
		return "ended";
	})();
	await pier.handled();
	pier.send({ type: "agent_settled", aborted: false });
	await pier.answer("get_last_assistant_text", { text: "last" });
	assert.equal(await loop, "last");
});

test("loops end with the client, and fail when the connection breaks", async () => {
	const types = async (pier: FakePier) => {
		const seen: string[] = [];
		for await (const event of pier.client.events()) seen.push(event.type);
		return seen;
	};
	const [closing, breaking] = [new FakePier(), new FakePier()];
	const [ended, broken] = [types(closing), types(breaking)];
	closing.send({ type: "agent_start" });
	await closing.client.waitFor("agent_start");
	await closing.client.close();
	assert.deepEqual(await ended, ["agent_start"]);
	breaking.vanish();
	await assert.rejects(broken, /The connection to Pier ended/);
	// Also one that begins afterwards.
	await assert.rejects(types(breaking), /The connection to Pier ended/);
	assert.deepEqual(await types(closing), []);
});

test("a loop that falls too far behind fails instead of filling the memory", async () => {
	const pier = new FakePier();
	const events = pier.client.events({ limit: 2 });
	for (let count = 0; count < 3; count++) pier.send({ type: "agent_start" });
	await pier.handled();
	await assert.rejects(events.next(), /more than 2 events behind/);
});

test("waiting for an event: the next that fits, within its bounds", async () => {
	const pier = new FakePier();
	const failed = pier.client.waitFor("tool_execution_end", { where: ({ isError }) => isError });
	pier.send({ type: "tool_execution_end", toolCallId: "1", isError: false });
	pier.send({ type: "tool_execution_end", toolCallId: "2", isError: true });
	assert.equal((await failed).toolCallId, "2");
	await assert.rejects(pier.client.waitFor("agent_end", { timeout: 10 }), PierTimeoutError);
	const wrong = pier.client.waitFor("agent_start", {
		where: () => {
			throw new Error("no idea");
		},
	});
	pier.send({ type: "agent_start" });
	await assert.rejects(wrong, /no idea/);
});
