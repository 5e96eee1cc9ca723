// Provider streams (§7.6): the adapter between `streamSimple` and the host.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageEventStream } from "../../src/api/event-stream.ts";
import { type Any, bind, fixture, load } from "./fake-host.ts";

const MODEL = { provider: "acme", id: "m1", api: "acme-api" };
const CONTEXT = { systemPrompt: "Be kind.", messages: [{ role: "user", content: "hi" }], tools: [{ name: "t" }] };
const MESSAGE = {
	role: "assistant",
	content: [{ type: "text", text: "hello" }],
	stopReason: "stop",
	usage: { output: 2 },
};

async function provider(
	streamSimple: (model: Any, context: Any, options: Any) => unknown,
	profile: "pi" | "xcsh" = "pi",
) {
	const f = fixture();
	await load(f.host, (pi) => pi.registerProvider("acme", { baseUrl: "x", models: [], streamSimple }), { profile });
	await bind(f.host);
	const run = (header: object = {}) =>
		f.host.send(
			"stream",
			{ ext: 1, provider: "acme", callId: 70, ...header },
			{ model: MODEL, context: CONTEXT, options: { maxTokens: 5 } },
		);
	const events = (): Any[] => f.host.named("stream.events").flatMap((batch) => batch.events);
	return { ...f, run, events };
}

/** A stream whose provider reuses one growing `partial`, as real ones do. */
function hello(stream = new MessageEventStream()): MessageEventStream {
	const partial: Any = { role: "assistant", content: [], usage: { output: 0 } };
	stream.push({ type: "start", partial });
	partial.content.push({ type: "text", text: "" });
	stream.push({ type: "text_start", contentIndex: 0, partial });
	for (const delta of ["hel", "lo"]) {
		partial.content[0].text += delta;
		stream.push({ type: "text_delta", contentIndex: 0, delta, partial });
	}
	partial.usage = { output: 2 };
	stream.push({ type: "text_end", contentIndex: 0, content: "hello", partial });
	stream.push({ type: "done", reason: "stop", message: MESSAGE });
	return stream;
}

test("ships deltas without partial, with usage where it changed, in one batch when all is ready", async () => {
	const { host, run, events } = await provider(() => hello());
	assert.equal(await run(), undefined);
	assert.deepEqual(events(), [
		// The provider had finished before it was read, so its one partial shows the final usage.
		{ type: "start", usage: { output: 2 } },
		{ type: "text_start", contentIndex: 0 },
		{ type: "text_delta", contentIndex: 0, delta: "hel" },
		{ type: "text_delta", contentIndex: 0, delta: "lo" },
		{ type: "text_end", contentIndex: 0, content: "hello" },
		{ type: "done", reason: "stop", message: MESSAGE },
	]);
	assert.equal(host.named("stream.events").length, 1);
});

test("what is there is shipped while the provider thinks", async () => {
	let open: () => void = () => {};
	const gate = new Promise<void>((resolve) => {
		open = resolve;
	});
	const { run, events } = await provider(async function* () {
		yield { type: "start" };
		yield { type: "thinking_start", contentIndex: 0 };
		yield { type: "thinking_delta", contentIndex: 0, delta: "hm" };
		await gate;
		yield { type: "done", message: MESSAGE };
	});
	const pending = run();
	await new Promise((resolve) => setImmediate(resolve));
	assert.equal(events().length, 3);
	open();
	await pending;
	assert.equal(events().at(-1).type, "done");
});

test("long streams go out in bounded batches and wait for the host when it is full", async () => {
	const deltas = 1000;
	const { host, run, events } = await provider(async function* () {
		yield { type: "text_start", contentIndex: 0 };
		for (let i = 0; i < deltas; i++) yield { type: "text_delta", contentIndex: 0, delta: "x" };
		yield { type: "done", message: MESSAGE };
	});
	let drained = 0;
	host.sync["stream.events"] = ({ events: batch }: Any) => {
		assert.ok(batch.length <= 64);
		assert.equal(host.named("stream.drain").length, drained, "nothing is sent before the queue was drained");
		return { full: true };
	};
	host.async["stream.drain"] = async () => {
		await new Promise((resolve) => setImmediate(resolve));
		drained++;
	};
	await run();
	assert.equal(events().length, deltas + 2);
	assert.ok(drained > 10);
});

test("tool calls carry id and name at the start and the call at the end", async () => {
	const { run, events } = await provider(async function* () {
		const partial = {
			role: "assistant",
			content: [{ type: "toolCall", id: "c1", name: "bash", arguments: {} as Any }],
		};
		yield { type: "toolcall_start", contentIndex: 0, partial };
		yield { type: "toolcall_delta", contentIndex: 0, delta: '{"a":', partial };
		const call = { type: "toolCall", id: "c1", name: "bash", arguments: { a: 1 } };
		yield { type: "toolcall_end", contentIndex: 0, toolCall: call, partial };
		yield { type: "done", reason: "toolUse", message: { ...MESSAGE, content: [call] } };
	});
	await run();
	assert.deepEqual(events().slice(0, 3), [
		{ type: "toolcall_start", contentIndex: 0, id: "c1", toolName: "bash" },
		{ type: "toolcall_delta", contentIndex: 0, delta: '{"a":' },
		{
			type: "toolcall_end",
			contentIndex: 0,
			toolCall: { type: "toolCall", id: "c1", name: "bash", arguments: { a: 1 } },
		},
	]);
});

test("broken events end the stream with an error that names the fault, keeping what arrived", async () => {
	const partial = { role: "assistant", content: [{ type: "text", text: "so far" }] };
	for (const [event, text] of [
		[null, /stream event must be an object, got null/],
		[{ contentIndex: 0 }, /has no type/],
		[{ type: "text_delta", contentIndex: 0, delta: 5 }, /text_delta: delta must be a string, got a number/],
		[{ type: "text_delta", contentIndex: 3, delta: "x" }, /block 3 is not open/],
		[{ type: "thinking_delta", contentIndex: 0, delta: "x" }, /block 0 is open as text/],
		[{ type: "text_start", contentIndex: 0 }, /block 0 is already open/],
		[{ type: "text_start", contentIndex: -1 }, /contentIndex must be a whole number/],
		[{ type: "done", message: "text" }, /done: message must be an assistant message/],
	] as const) {
		const { run, events } = await provider(async function* () {
			yield { type: "text_start", contentIndex: 0, partial };
			yield event;
			assert.fail("the stream must not be read on");
		});
		await run();
		const last = events().at(-1);
		assert.equal(last.type, "error");
		assert.equal(last.reason, "error");
		assert.match(last.error.errorMessage, text);
		assert.match(last.error.errorMessage, /^Provider "acme": /);
		assert.deepEqual(last.error.content, partial.content);
		assert.equal(last.error.stopReason, "error");
		assert.equal(events().filter((e) => e.type === "done" || e.type === "error").length, 1);
	}
});

test("unknown event types are skipped", async () => {
	const { run, events } = await provider(async function* () {
		yield { type: "telemetry", data: 1 };
		yield { type: "done", message: MESSAGE };
	});
	await run();
	assert.deepEqual(
		events().map((e) => e.type),
		["done"],
	);
});

test("a throwing iteration and a missing end become error events", async () => {
	const throwing = await provider(async function* () {
		yield { type: "start" };
		throw new Error("socket hang up");
	});
	await throwing.run();
	assert.equal(throwing.events().at(-1).error.errorMessage, 'Provider "acme": socket hang up');
	const silent = await provider(async function* () {
		yield { type: "start" };
	});
	await silent.run();
	assert.match(silent.events().at(-1).error.errorMessage, /ended without a done or error event/);
	assert.equal(silent.events().at(-1).error.provider, "acme");
});

test("a stream ended with end(message) gives that message", async () => {
	const { run, events } = await provider(() => {
		const stream = new MessageEventStream();
		stream.push({ type: "start" });
		stream.end({ ...MESSAGE, stopReason: "error", errorMessage: "quota" });
		return stream;
	});
	await run();
	assert.deepEqual(
		[events().at(-1).type, events().at(-1).reason, events().at(-1).error.errorMessage],
		["error", "error", "quota"],
	);
});

test("a provider that never gives a stream fails the call", async () => {
	const sync = await provider(() => {
		throw new Error("no key");
	});
	await assert.rejects(sync.run(), /no key/);
	const nothing = await provider(() => undefined);
	await assert.rejects(nothing.run(), /Provider "acme": streamSimple must return an event stream, got undefined/);
	await assert.rejects(
		async () => nothing.host.send("stream", { ext: 1, provider: "none", callId: 1 }, {}),
		/no streamSimple/,
	);
});

test("the abort signal reaches the stream, whose own error event is passed on", async () => {
	const { host, run, events } = await provider((_m, _c, options) => {
		const stream = new MessageEventStream();
		stream.push({ type: "start" });
		options.signal.addEventListener("abort", () =>
			stream.push({ type: "error", reason: "aborted", error: { ...MESSAGE, stopReason: "aborted" } }),
		);
		return stream;
	});
	const pending = run();
	await new Promise((resolve) => setImmediate(resolve));
	await host.send("abort", { callId: 70 });
	await pending;
	assert.deepEqual([events().at(-1).type, events().at(-1).reason], ["error", "aborted"]);
});

test("a stream that ignores the abort is ended after a grace period", async () => {
	let returned = false;
	const { host, run, events } = await provider(() => ({
		[Symbol.asyncIterator]: () => ({
			next: () => new Promise(() => {}),
			return: async () => {
				returned = true;
				return { done: true, value: undefined };
			},
		}),
	}));
	const pending = run();
	await new Promise((resolve) => setImmediate(resolve));
	const start = performance.now();
	await host.send("abort", { callId: 70 });
	await pending;
	assert.ok(performance.now() - start < 5000);
	assert.equal(events().at(-1).reason, "aborted");
	assert.equal(events().at(-1).error.stopReason, "aborted");
	assert.ok(returned);
});

test("pi providers read prompt and tools from a system message, xcsh ones from the context", async () => {
	for (const profile of ["pi", "xcsh"] as const) {
		let seen: Any;
		const { run } = await provider((_model, context) => {
			seen = context;
			return hello();
		}, profile);
		await run();
		if (profile === "xcsh") assert.deepEqual(seen, CONTEXT);
		else {
			assert.deepEqual(Object.keys(seen), ["messages"]);
			assert.deepEqual(seen.messages[0], {
				role: "system",
				content: "Be kind.",
				toolsAdded: [{ name: "t" }],
				timestamp: 0,
			});
			assert.deepEqual(seen.messages[1], CONTEXT.messages[0]);
		}
	}
});

test("payload, response and event callbacks exist only when the host has listeners", async () => {
	const plain = await provider((_m, _c, options) => {
		assert.equal(options.maxTokens, 5);
		assert.equal("onPayload" in options || "onResponse" in options || "onProviderStreamEvent" in options, false);
		return hello();
	});
	await plain.run();
	const hooked = await provider(async (_m, _c, options) => {
		const payload = await options.onPayload({ a: 1 });
		assert.deepEqual(payload, { a: 2 });
		await options.onResponse({ status: 200, headers: { h: "v" } });
		options.onProviderStreamEvent({ raw: true });
		return hello();
	});
	hooked.host.async["stream.payload"] = () => ({ payload: { a: 2 } });
	hooked.host.async["stream.response"] = () => undefined;
	hooked.host.async["stream.event"] = () => undefined;
	await hooked.run({ hooks: ["payload", "response", "event"] });
	assert.deepEqual(hooked.host.named("stream.response"), [{ callId: 70, status: 200, headers: { h: "v" } }]);
	assert.deepEqual(hooked.host.named("stream.event"), [{ callId: 70, data: { raw: true } }]);
});

test("handlers do not see a payload's signals, and a replaced payload keeps them", async () => {
	const { signal } = new AbortController();
	let sent: Any;
	const hooked = await provider(async (_m, _c, options) => {
		sent = await options.onPayload({ a: 1, config: { signal, b: 2 } });
		return hello();
	});
	hooked.host.async["stream.payload"] = ({ payload }: Any) => ({ payload: { ...payload, a: 3 } });
	await hooked.run({ hooks: ["payload"] });
	assert.deepEqual(hooked.host.named("stream.payload"), [{ callId: 70, payload: { a: 1, config: { b: 2 } } }]);
	assert.deepEqual([sent.a, sent.config.b, sent.config.signal], [3, 2, signal]);
});

test("oauth functions run here and ask through the host", async () => {
	const f = fixture();
	await load(f.host, (pi) =>
		pi.registerProvider("acme", {
			oauth: {
				name: "Acme",
				async login(callbacks: Any) {
					callbacks.onAuth({ url: "https://login", instructions: "go" });
					callbacks.onProgress("waiting");
					const code = await callbacks.onPrompt({ message: "Code?" });
					const org = await callbacks.onSelect({ message: "Org?", options: [] });
					return { access: code, refresh: org, expires: 1 };
				},
				refreshToken: async (credentials: Any, signal: unknown) => ({
					...credentials,
					access: signal instanceof AbortSignal,
				}),
				getApiKey: (credentials: Any) => `key-${credentials.access}`,
			},
			refreshModels: async (context: Any) => [{ id: context.credential }],
		}),
	);
	f.host.async["oauth.interact"] = ({ kind }: Any) => ({ value: ({ prompt: "c0de", select: "org1" } as Any)[kind] });
	const call = (op: string, payload?: object) =>
		f.host.send("oauth", { ext: 1, provider: "acme", op, callId: 3 }, payload);
	assert.deepEqual(await call("login"), { access: "c0de", refresh: "org1", expires: 1 });
	assert.deepEqual(
		f.host.named("oauth.interact").map((i: Any) => i.kind),
		["auth", "progress", "prompt", "select"],
	);
	assert.deepEqual(await call("refreshToken", { credentials: { refresh: "r" } }), { refresh: "r", access: true });
	assert.equal(await call("getApiKey", { credentials: { access: "a" } }), "key-a");
	await assert.rejects(async () => call("modifyModels", {}), /no oauth\.modifyModels/);
	assert.deepEqual(
		await f.host.send("refreshModels", { ext: 1, provider: "acme", callId: 4 }, { credential: "cred" }),
		[{ id: "cred" }],
	);
	f.host.async["oauth.interact"] = () => undefined;
	await assert.rejects(call("login"), /Login cancelled/);
});
