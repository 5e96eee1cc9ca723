// Tools that the client runs.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostTool } from "../../src/client/index.js";
import { FakePier } from "./fake-pier.ts";

const parameters = { type: "object", properties: {} };

async function serving(tools: HostTool[]): Promise<FakePier> {
	const pier = new FakePier();
	const names = pier.client.setHostTools(tools);
	const command = await pier.answer("set_host_tools", { toolNames: tools.map((tool) => tool.name) });
	assert.deepEqual(command.tools, JSON.parse(JSON.stringify(tools)));
	assert.deepEqual(
		await names,
		tools.map((tool) => tool.name),
	);
	return pier;
}

function call(pier: FakePier, toolName: string, args: object = {}): void {
	pier.send({ type: "host_tool_call", id: `call-${toolName}`, toolCallId: "t1", toolName, arguments: args });
}

test("a call is answered, with progress before", async () => {
	const pier = await serving([
		{
			name: "weather",
			label: "Weather",
			description: "Tells the weather",
			parameters,
			async execute({ city }: { city: string }, { update, toolCallId }) {
				update(`asking about ${city}`);
				return { content: [{ type: "text", text: "sunny" }], details: { toolCallId } };
			},
		},
	]);
	call(pier, "weather", { city: "Oslo" });
	const content = (text: string) => [{ type: "text", text }];
	assert.deepEqual(await pier.next(), {
		type: "host_tool_update",
		id: "call-weather",
		partialResult: { content: content("asking about Oslo") },
	});
	assert.deepEqual(await pier.next(), {
		type: "host_tool_result",
		id: "call-weather",
		result: { content: content("sunny"), details: { toolCallId: "t1" } },
		isError: false,
	});
});

test("every way to fail is told to the model", async () => {
	const circular: { self?: object } = {};
	circular.self = circular;
	const pier = await serving([
		{ name: "says", description: "d", parameters, execute: () => ({ content: [], isError: true }) },
		{
			name: "throws",
			description: "d",
			parameters,
			execute: () => {
				throw new Error("no network");
			},
		},
		{ name: "circular", description: "d", parameters, execute: () => ({ content: [], details: circular }) },
	]);
	for (const [name, text] of [
		["says", undefined],
		["throws", /^no network$/],
		["circular", /circular/],
		["unknown", /no tool "unknown"/],
	] as const) {
		call(pier, name);
		const answer = await pier.next("host_tool_result");
		assert.equal(answer.isError, true);
		if (text !== undefined) assert.match(answer.result.content[0].text, text);
	}
	assert.deepEqual(pier.errors, []);
});

test("a cancelled call is told so by its signal and not answered", async () => {
	let finish: (reason: unknown) => void = () => undefined;
	const stopped = new Promise((resolve) => {
		finish = resolve;
	});
	const pier = await serving([
		{
			name: "slow",
			description: "d",
			parameters,
			execute: (_args, { signal, update }) =>
				new Promise((resolve) => {
					signal.addEventListener("abort", () => {
						update("too late");
						resolve("too late");
						finish(signal.reason);
					});
				}),
		},
	]);
	call(pier, "slow");
	await pier.handled();
	pier.send({ type: "host_tool_cancel", id: "x", targetId: "call-slow" });
	assert.match(String(await stopped), /aborted/);
	const next = pier.client.send("abort_retry");
	await pier.answer("abort_retry");
	await next;
});

test("a set of tools that is refused leaves the one before", async () => {
	const pier = await serving([{ name: "old", description: "d", parameters, execute: () => "old" }]);
	const refused = pier.client.setHostTools([{ name: "new", description: "", parameters, execute: () => "new" }]);
	const { id } = await pier.next("set_host_tools");
	// While Pier decides, both may be called.
	call(pier, "new");
	assert.equal((await pier.next("host_tool_result")).result.content[0].text, "new");
	pier.send({ id, type: "response", command: "set_host_tools", success: false, error: "no description" });
	await assert.rejects(refused, /no description/);
	call(pier, "old");
	assert.equal((await pier.next("host_tool_result")).isError, false);
	call(pier, "new");
	assert.equal((await pier.next("host_tool_result")).isError, true);
});
