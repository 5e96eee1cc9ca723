// What the host learns from the HTTP responses of built-in providers.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import type { AssistantMessageEvent, SimpleStreamOptions } from "@earendil-works/pi-ai/compat";
import { retryAfterMs, watchedStream } from "../../src/providers/watch.ts";

const realFetch = globalThis.fetch;
afterEach(() => {
	globalThis.fetch = realFetch;
});

/** Streams one request that is answered with `response`; the client reads the body and fails with `text`. */
async function run(response: Response, text: string, onAlive?: () => void) {
	globalThis.fetch = async () => response;
	let body = "";
	async function* start(options: SimpleStreamOptions): AsyncGenerator<AssistantMessageEvent> {
		const { fetch } = options as { fetch: typeof globalThis.fetch };
		body = await (await fetch("http://localhost/")).text();
		yield { type: "error", reason: "error", error: { errorMessage: text } } as AssistantMessageEvent;
	}
	const events = [];
	const options = { ...(onAlive === undefined ? {} : { onAlive }) } as SimpleStreamOptions;
	for await (const event of watchedStream("openai-completions", options, start)) events.push(event);
	const [event] = events as unknown as [{ error: { errorMessage: string; retryAfterMs?: number } }];
	return { body, error: event.error };
}

test("a refusal is named with its status, and with the wait that it asks for", async () => {
	const headers = { "retry-after-ms": "1500.5" };
	const silent = await run(new Response("", { status: 503, headers }), "Unexpected end of JSON input");
	assert.equal(silent.error.errorMessage, "HTTP 503: Unexpected end of JSON input");
	assert.equal(silent.error.retryAfterMs, 1501);
	const told = await run(new Response("busy", { status: 429 }), "429 busy");
	assert.equal(told.error.errorMessage, "429 busy");
	assert.equal(told.error.retryAfterMs, undefined);
	const counted = await run(new Response("", { status: 500 }), "15000 tokens");
	assert.equal(counted.error.errorMessage, "HTTP 500: 15000 tokens");
	const fine = await run(new Response("text"), "cut");
	assert.deepEqual(fine, { body: "text", error: { errorMessage: "cut" } });
});

test("every piece of a body is a sign of life, and the body stays what it is", async () => {
	let signs = 0;
	const body = new ReadableStream({
		start(controller) {
			for (const text of [": keep-alive\n\n", "data: 1\n\n"]) controller.enqueue(new TextEncoder().encode(text));
			controller.close();
		},
	});
	const seen = await run(new Response(body), "cut", () => signs++);
	assert.equal(seen.body, ": keep-alive\n\ndata: 1\n\n");
	assert.equal(signs, 2);
});

test("waits are read in all their forms", () => {
	const wait = (headers: Record<string, string>) => retryAfterMs(new Headers(headers), Date.UTC(2026, 0, 1));
	assert.equal(wait({}), undefined);
	assert.equal(wait({ "retry-after": "1.5" }), 1500);
	assert.equal(wait({ "retry-after": "Thu, 01 Jan 2026 00:00:02 GMT" }), 2000);
	assert.equal(wait({ "retry-after": "soon" }), undefined);
});
