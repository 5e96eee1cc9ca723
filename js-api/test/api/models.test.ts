// `ctx.modelRegistry` (sdk-exports §2.4).

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Any, commandContext, fixture, until } from "./fake-host.ts";

const MODELS = [
	{ provider: "acme", id: "m1", name: "One", api: "a", headers: { h: "1" } },
	{ provider: "acme", id: "img", name: "Img", api: "a", type: "image" },
	{ provider: "free", id: "m2", name: "Two", api: "b" },
];

async function registry() {
	const { host, runtime } = fixture();
	host.sync.models = ({ available }: Any) => (available ? MODELS.slice(0, 2) : MODELS);
	host.sync.providers = () => [
		{ name: "acme", displayName: "Acme", auth: "oauth", baseUrl: "https://acme", configured: true },
		{ name: "free", auth: "env", configured: false },
	];
	host.async.getApiKey = ({ provider }: Any) => (provider === "acme" ? "secret" : null);
	host.async.requestAuth = ({ provider, model }: Any) => ({
		apiKey: "secret",
		headers: { h: `${provider} ${model}` },
		baseUrl: "https://acme",
	});
	const { ctx } = await commandContext(host);
	return { host, runtime, models: ctx.modelRegistry };
}

test("synchronous readers", async () => {
	const { host, models } = await registry();
	assert.equal(models.getAll().length, 3);
	assert.equal(models.getAvailable().length, 2);
	assert.equal(models.find("free", "m2").name, "Two");
	assert.equal(models.find("free", "m1"), undefined);
	assert.equal(models.findOfType("image", "acme", "img").name, "Img");
	assert.equal(models.getError(), undefined);
	assert.equal(models.isUsingOAuth(MODELS[0]), true);
	assert.equal(models.hasConfiguredAuth(MODELS[2]), false);
	assert.deepEqual(models.getProviderAuthStatus("acme"), { configured: true, source: "oauth" });
	assert.deepEqual(models.getProviderAuthStatus("free"), { configured: false });
	assert.equal(models.getProviderDisplayName("acme"), "Acme");
	assert.equal(models.getProviderDisplayName("none"), "none");
	assert.deepEqual(models.getRegisteredProviderIds(), ["acme", "free"]);
	const asked = host.named("models").length;
	models.getAll().pop();
	assert.equal(models.getAll().length, 3);
	assert.equal(host.named("models").length, asked, "lists are kept for one state version");
	assert.throws(() => models.isUsingOAuth("acme"), /expected a model with a provider/);
});

test("credentials come from the host", async () => {
	const { models, host } = await registry();
	assert.equal(await models.getApiKey(MODELS[0]), "secret");
	assert.equal(await models.getApiKey(MODELS[2]), undefined);
	const auth = { apiKey: "secret", headers: { h: "acme m1" }, baseUrl: "https://acme" };
	assert.deepEqual(await models.getApiKeyAndHeaders(MODELS[0]), { ok: true, ...auth });
	assert.deepEqual(await models.getProviderAuth(MODELS[0]), { auth, source: "oauth" });
	assert.equal(await models.getProviderAuth("free"), undefined);
	host.async.requestAuth = () => {
		throw new Error("not permitted");
	};
	assert.deepEqual(await models.getApiKeyAndHeaders(MODELS[0]), { ok: false, error: "not permitted" });
});

test("xcsh's readers group models by id and leave out what is suppressed", async () => {
	const { host, models } = await registry();
	const shared = [
		{ provider: "one", id: "vendor/Big", name: "Big", api: "a" },
		{ provider: "two", id: "big", name: "Big too", api: "a" },
	];
	host.sync.models = ({ available }: Any) => (available ? shared.slice(1) : shared);
	assert.deepEqual(
		models.getCanonicalModels().map(({ id, name, variants }: Any) => [id, name, variants.map((v: Any) => v.selector)]),
		[["big", "Big", ["one/vendor/Big", "two/big"]]],
	);
	assert.equal(models.getCanonicalModels({ availableOnly: true })[0].variants.length, 1);
	assert.equal(models.resolveCanonicalModel("big").provider, "two");
	models.suppressSelector("two/big", Date.now() + 60_000);
	assert.equal(models.resolveCanonicalModel("big").provider, "one");
	assert.equal(models.resolveCanonicalModel("big", { availableOnly: true }), undefined);
	models.suppressSelector("two/big", Date.now() - 1);
	assert.equal(models.resolveCanonicalModel("big").provider, "two");
	assert.equal(models.resolveCanonicalModel("small"), undefined);
	assert.deepEqual(models.getDiscoverableProviders(), []);
});

test("classify and generateImages answer an error, also without a model", async () => {
	const { models } = await registry();
	const classified = await models.classify(MODELS[0], {});
	assert.deepEqual([classified.stopReason, classified.model, classified.answers], ["error", "m1", {}]);
	const drawn = await models.generateImages(undefined, {});
	assert.match(drawn.errorMessage, /only chat models/);
	assert.deepEqual(drawn.output, []);
});

test("providers are registered in the name of the extension whose context it is", async () => {
	const { host, models } = await registry();
	const config = { baseUrl: "http://x", apiKey: "k", api: "a", models: [{ id: "n" }] };
	models.registerProvider("mine", config);
	const sent = host.named("register").at(-1);
	assert.equal(sent.ext, 1);
	assert.equal(sent.change.providers[0].name, "mine");
	models.unregisterProvider("mine");
	assert.deepEqual(host.named("unregisterProvider"), [{ ext: 1, name: "mine" }]);
	assert.throws(() => models.registerProvider("", config), /name/);
});

test("complete sends a plain request and rebuilds the partial message from deltas", async () => {
	const { host, models, runtime } = await registry();
	const final = { role: "assistant", content: [{ type: "text", text: "hello" }], stopReason: "stop" };
	host.async.complete = async ({ onEvent, options, model, context }: Any) => {
		assert.deepEqual(options, { maxTokens: 9 });
		assert.equal(model.id, "m1");
		assert.deepEqual(context, { messages: [] });
		await host.send("callback", { handle: onEvent }, [
			[{ type: "usage", usage: { output: 0 } }, { type: "start" }, { type: "text_start", contentIndex: 0 }],
		]);
		await host.send("callback", { handle: onEvent }, [
			{ type: "text_delta", contentIndex: 0, delta: "hel", usage: { output: 1 } },
		]);
		return final;
	};
	const stream = models.stream(
		MODELS[0],
		{ messages: [] },
		{ maxTokens: 9, signal: new AbortController().signal, onPayload() {} },
	);
	const seen: Any[] = [];
	for await (const event of stream) seen.push(structuredClone(event));
	assert.deepEqual(
		seen.map((e) => e.type),
		["start", "text_start", "text_delta", "done"],
	);
	assert.equal(seen[2].partial.content[0].text, "hel");
	assert.deepEqual(seen[2].partial.usage, { output: 1 });
	assert.deepEqual(await stream.result(), final);
	assert.equal(runtime.callbacks.size, 0);
	host.async.complete = async () => final;
	assert.deepEqual(await models.complete(MODELS[0], { messages: [] }), final);
});

test("failures and aborts are messages, never rejections", async () => {
	const { host, models } = await registry();
	host.async.complete = () => {
		throw new Error("host says no");
	};
	const failed = await models.complete(MODELS[0], {});
	assert.deepEqual([failed.stopReason, failed.errorMessage, failed.provider], ["error", "host says no", "acme"]);
	const before = await models.complete(MODELS[0], {}, { signal: AbortSignal.abort(new Error("early")) });
	assert.deepEqual([before.stopReason, before.errorMessage], ["aborted", "early"]);
	let stop: (value: unknown) => void = () => {};
	host.async.complete = () =>
		new Promise((resolve) => {
			stop = resolve;
		});
	host.sync["complete.cancel"] = () => stop({ role: "assistant", content: [], stopReason: "aborted" });
	const controller = new AbortController();
	const sent = host.named("complete").length;
	const pending = models.complete(MODELS[0], {}, { signal: controller.signal });
	await until(() => host.named("complete").length > sent);
	controller.abort(new Error("changed my mind"));
	assert.equal((await pending).stopReason, "aborted");
	assert.equal(host.named("complete.cancel")[0].reason, "changed my mind");
});
