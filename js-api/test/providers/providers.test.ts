// The built-in providers: what they register, and that the built pieces really speak their protocols, against a server on this machine.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { keyTemplate } from "../../src/providers/keys.ts";
import { importBuilt } from "../host-modules/built.ts";

// biome-ignore lint/suspicious/noExplicitAny: registrations and wire records.
type Any = any;

const registered = new Map<string, Any>();
const requests: { path: string; headers: IncomingMessage["headers"]; body: Any }[] = [];
let server: Server;
let url = "";

const OPENAI = [
	{ choices: [{ index: 0, delta: { role: "assistant", content: "Hel" } }] },
	{ choices: [{ index: 0, delta: { content: "lo" } }] },
	{ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
	{ choices: [], usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 } },
].map((chunk) => ({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m", ...chunk }));

const ANTHROPIC = [
	{
		type: "message_start",
		message: {
			id: "m1",
			type: "message",
			role: "assistant",
			content: [],
			model: "m",
			stop_reason: null,
			usage: { input_tokens: 5, output_tokens: 1 },
		},
	},
	{ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
	{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } },
	{ type: "content_block_stop", index: 0 },
	{ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } },
	{ type: "message_stop" },
];

const GOOGLE = [
	{
		candidates: [{ content: { role: "model", parts: [{ text: "Hello" }] }, finishReason: "STOP" }],
		usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2, totalTokenCount: 6 },
	},
];

before(async () => {
	server = createServer(async (request, response) => {
		let body = "";
		for await (const part of request) body += part;
		const path = request.url ?? "";
		requests.push({ path, headers: request.headers, body: JSON.parse(body || "{}") });
		if (path.includes("/denied")) {
			response.writeHead(401, { "content-type": "application/json" });
			response.end(JSON.stringify({ error: { message: "bad key" } }));
			return;
		}
		response.writeHead(200, { "content-type": "text/event-stream" });
		if (path.includes("/messages")) {
			for (const event of ANTHROPIC) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
		} else if (path.includes("streamGenerateContent")) {
			for (const chunk of GOOGLE) response.write(`data: ${JSON.stringify(chunk)}\r\n\r\n`);
		} else {
			for (const chunk of OPENAI) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
			response.write("data: [DONE]\n\n");
		}
		response.end();
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const { default: providers } = await importBuilt("pier:providers");
	providers({
		registerProvider: (name: string, config: Any) => registered.set(name, config),
		logger: { warn: (message: string, context: Any) => assert.fail(`${message} ${JSON.stringify(context)}`) },
	});
});

after(() => server.close());

test("every provider is registered in a form that the host accepts", () => {
	assert.ok(registered.size > 25, `only ${registered.size} providers`);
	for (const [name, config] of registered) {
		assert.ok(config.baseUrl, `${name} has no baseUrl`);
		assert.ok(config.apiKey || config.oauth, `${name} has no credentials`);
		assert.ok(config.models.length > 0, `${name} has no models`);
		assert.equal(typeof config.streamSimple, "function");
		for (const model of config.models) assert.ok(model.id && model.api, `${name} has a model without id or api`);
		assert.doesNotThrow(() => JSON.stringify(config));
	}
	const anthropic = registered.get("anthropic");
	assert.equal(typeof anthropic.oauth.login, "function");
	assert.ok(anthropic.models.some((model: Any) => model.id === "claude-sonnet-4-5"));
});

test("keys are templates for the host, ambient credentials a marker", () => {
	const nothing = () => undefined;
	assert.equal(keyTemplate("openai", {}, nothing), "$OPENAI_API_KEY");
	assert.equal(keyTemplate("anthropic", { ANTHROPIC_API_KEY: "k" }, nothing), "$ANTHROPIC_API_KEY");
	assert.equal(keyTemplate("anthropic", { ANTHROPIC_AUTH_TOKEN: "t" }, nothing), "$ANTHROPIC_OAUTH_TOKEN");
	assert.equal(keyTemplate("qwen-token-plan", { QWEN_TOKEN_PLAN_API_KEY: "k" }, nothing), "$QWEN_TOKEN_PLAN_API_KEY");
	assert.equal(keyTemplate("amazon-bedrock", {}, nothing), "$AWS_BEARER_TOKEN_BEDROCK");
	assert.equal(
		keyTemplate("amazon-bedrock", {}, () => "<authenticated>"),
		"<authenticated>",
	);
	assert.equal(keyTemplate("no-such-provider", {}, nothing), undefined);
});

async function ask(api: string, more: object = {}, options: object = {}): Promise<{ events: string[]; message: Any }> {
	const model = {
		id: "m",
		name: "M",
		api,
		provider: "somewhere",
		baseUrl: url,
		reasoning: false,
		input: ["text"],
		cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
		contextWindow: 1000,
		maxTokens: 100,
		...more,
	};
	const context = { systemPrompt: "Be brief.", messages: [{ role: "user", content: "hi", timestamp: 1 }], tools: [] };
	const stream = registered.get("openai").streamSimple(model, context, { apiKey: "secret", maxRetries: 0, ...options });
	const events: string[] = [];
	let message: Any;
	for await (const event of stream) {
		events.push(event.type);
		if (event.type === "done") message = event.message;
		if (event.type === "error") message = event.error;
	}
	return { events, message };
}

test("protocols are spoken by lazily loaded pieces", async () => {
	for (const [api, path] of [
		["openai-completions", /\/chat\/completions$/],
		["anthropic-messages", /\/messages/],
		["google-generative-ai", /streamGenerateContent/],
	] as const) {
		requests.length = 0;
		const { events, message } = await ask(api);
		assert.equal(message.errorMessage, undefined, api);
		assert.deepEqual(
			message.content.map(({ type, text }: Any) => [type, text]),
			[["text", "Hello"]],
			api,
		);
		assert.equal(message.stopReason, "stop");
		assert.ok(message.usage.totalTokens > 0 && message.usage.cost.total > 0);
		assert.equal(events[0], "start");
		assert.equal(events.at(-1), "done");
		assert.equal(requests.length, 1);
		assert.match(requests[0]?.path ?? "", path);
		assert.match(JSON.stringify(requests[0]?.headers), /secret/);
		assert.match(JSON.stringify(requests[0]?.body), /Be brief\./);
	}
});

test("a refused request is an error message, not an exception", async () => {
	const { events, message } = await ask("openai-completions", { baseUrl: `${url}/denied` });
	assert.equal(events.at(-1), "error");
	assert.equal(message.stopReason, "error");
	assert.match(message.errorMessage, /401/);
});

test("an aborted request ends as aborted", async () => {
	const controller = new AbortController();
	controller.abort();
	const { message } = await ask("openai-completions", {}, { signal: controller.signal });
	assert.equal(message.stopReason, "aborted");
});
