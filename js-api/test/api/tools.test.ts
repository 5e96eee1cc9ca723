// Tool execution (§6.3, §6.4, §6.6) and nested calls (§4.2).

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Any, bind, fixture, load, until } from "./fake-host.ts";

async function tool(definition: object) {
	const f = fixture();
	await load(f.host, (pi) => pi.registerTool({ name: "t", parameters: {}, ...definition }));
	await bind(f.host);
	const run = (args: unknown = {}, header: object = {}) =>
		f.host.send("executeTool", { ext: 1, tool: "t", toolCallId: "tc1", callId: 50, ...header }, args);
	return { ...f, run };
}

test("execute gets id, arguments, signal, update function and a tool context, with the definition as this", async () => {
	const { run } = await tool({
		extra: 7,
		async execute(this: Any, id: string, args: Any, signal: AbortSignal, onUpdate: Any, ctx: Any) {
			assert.equal(this.extra, 7);
			assert.ok(signal instanceof AbortSignal);
			assert.equal(typeof onUpdate, "function");
			assert.equal(typeof ctx.executeTool, "function");
			assert.equal(ctx.cwd, "/project");
			return {
				content: [{ type: "text", text: `${id} ${args.a}` }],
				details: { when: new Date(0) },
				terminate: true,
				isError: true,
			};
		},
	});
	assert.deepEqual(await run({ a: 1 }), {
		content: [{ type: "text", text: "tc1 1" }],
		details: { when: "1970-01-01T00:00:00.000Z" },
		terminate: true,
		isError: true,
	});
});

test("results are brought into one form", async () => {
	for (const [result, expected] of [
		["text", { content: [{ type: "text", text: "text" }] }],
		[{ content: "text" }, { content: [{ type: "text", text: "text" }] }],
		[
			{ content: null, details: 1 },
			{ content: [], details: 1 },
		],
		[{}, { content: [] }],
	] as const) {
		const { run } = await tool({ execute: () => result });
		assert.deepEqual(await run(), expected);
	}
	for (const [result, message] of [
		[undefined, /Tool "t" must return an object with content, got undefined/],
		[[], /got an array/],
		[{ content: 5 }, /content must be an array of blocks, got a number/],
	] as const) {
		const { run } = await tool({ execute: () => result });
		await assert.rejects(run(), message);
	}
});

test("throws travel as errors, other values as errors with their text", async () => {
	const error = new TypeError("boom failed");
	const bad = await tool({
		execute() {
			throw error;
		},
	});
	await assert.rejects(bad.run(), error);
	const odd = await tool({
		execute: () => Promise.reject({ toString: () => "odd value" }),
	});
	await assert.rejects(odd.run(), { message: "odd value" });
});

test("updates reach the host while the tool runs and are dropped afterwards", async () => {
	let update: Any;
	const { host, run } = await tool({
		execute(_id: string, _args: Any, _signal: Any, onUpdate: Any) {
			update = onUpdate;
			onUpdate({ content: [{ type: "text", text: "half" }], details: { step: 1 } });
			onUpdate("text form");
			return { content: [] };
		},
	});
	await run();
	update({ content: [] });
	assert.deepEqual(host.named("tool.update"), [
		{ callId: 50, partial: { content: [{ type: "text", text: "half" }], details: { step: 1 } } },
		{ callId: 50, partial: { content: [{ type: "text", text: "text form" }] } },
	]);
});

test("the signal fires for its own call only, with a reason", async () => {
	const { host, run } = await tool({
		execute: (_id: string, _args: Any, signal: AbortSignal) =>
			new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
	});
	const pending = run();
	await host.send("abort", { callId: 51, reason: "other" });
	await host.send("abort", { callId: 50, reason: "user pressed escape" });
	await assert.rejects(pending, { name: "AbortError", message: "user pressed escape" });
});

test("a tool that is not abortable gets no signal", async () => {
	const { run } = await tool({ execute: (_i: string, _a: Any, signal: unknown) => `${signal}` });
	assert.deepEqual(await run({}, { noSignal: true }), { content: [{ type: "text", text: "undefined" }] });
});

test("prepareArguments and onSession run on the definition", async () => {
	const seen: Any[] = [];
	const { host } = await tool({
		execute() {},
		prepareArguments(this: Any, raw: Any) {
			return { ...raw, prepared: this.name };
		},
		onSession(event: Any, ctx: Any) {
			seen.push(event, typeof ctx.ui.notify);
		},
	});
	assert.deepEqual(await host.send("prepareArguments", { ext: 1, tool: "t" }, { a: 1 }), { a: 1, prepared: "t" });
	await host.send("toolSession", { ext: 1, tool: "t", callId: 1 }, { reason: "switch", previousSessionFile: "/a" });
	assert.deepEqual(seen, [{ reason: "switch", previousSessionFile: "/a" }, "function"]);
	await assert.rejects(
		async () => host.send("executeTool", { ext: 1, tool: "none", toolCallId: "x", callId: 2 }, {}),
		/Tool none not found/,
	);
});

test("executeTool passes updates and answers the outcome", async () => {
	const updates: Any[] = [];
	const { host, run, runtime } = await tool({
		async execute(_i: string, _a: Any, _s: Any, _u: Any, ctx: Any) {
			assert.deepEqual(
				ctx.tools.map((t: Any) => t.name),
				["read"],
			);
			const outcome = await ctx.executeTool("read", { path: "a" }, { onUpdate: (p: Any) => updates.push(p) });
			return { content: [], details: outcome };
		},
	});
	host.async.executeTool = async ({ onUpdate, name, args, callId }: Any) => {
		assert.equal(callId, 50);
		await host.send("callback", { handle: onUpdate }, [{ content: [] }]);
		return { toolCall: { id: "tc1/1", name, arguments: args }, result: { content: [] }, isError: false };
	};
	const { details } = await run();
	assert.equal(details.toolCall.id, "tc1/1");
	assert.deepEqual(updates, [{ content: [] }]);
	assert.equal(runtime.callbacks.size, 0);
});

test("executeTool never rejects: host errors and aborts become error results", async () => {
	const { host, run } = await tool({
		async execute(_i: string, _a: Any, _s: Any, _u: Any, ctx: Any) {
			const failed = await ctx.executeTool("x", {});
			const aborted = await ctx.executeTool("x", {}, { signal: AbortSignal.abort(new Error("no")) });
			const controller = new AbortController();
			const pending = ctx.executeTool("slow", {}, { signal: controller.signal });
			await until(() => host.named("executeTool").length === 2);
			controller.abort(new Error("stop it"));
			return { content: [], details: [failed, aborted, await pending] };
		},
	});
	let stop: (error: Error) => void = () => {};
	host.async.executeTool = ({ name }: Any) => {
		if (name === "x") throw new Error("Tool x not found");
		return new Promise((_resolve, reject) => {
			stop = reject;
		});
	};
	host.sync["executeTool.cancel"] = ({ reason }: Any) => stop(new Error(`cancelled: ${reason}`));
	const { details } = await run();
	assert.deepEqual(
		details.map((d: Any) => [d.isError, d.result.content[0].text]),
		[
			[true, "Tool x not found"],
			[true, "no"],
			[true, "cancelled: stop it"],
		],
	);
});
