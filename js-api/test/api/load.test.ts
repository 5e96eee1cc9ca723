// Loading: factory discovery, registrations, transactions, calls before binding (extension-api §1, §2.2).

import assert from "node:assert/strict";
import { test } from "node:test";
import { ExtensionRuntimeNotInitializedError } from "../../src/api/errors.ts";
import { type Any, bind, emit, fixture, load } from "./fake-host.ts";

const HEADER = {
	ext: 1,
	entry: "file:///ext/1.ts",
	path: "/ext/1.ts",
	profile: "pi",
	cwd: "/project",
	configDirName: ".pi",
	agentDir: "/agent",
	appName: "pier",
	version: "0",
};

test("finds the factory as default export, as module.exports, and as exports.default", async () => {
	const factory = (pi: Any) => pi.setLabel("found");
	for (const module of [{ default: factory }, factory, { default: { default: factory, __esModule: true } }]) {
		const { host } = fixture();
		host.modules.set(HEADER.entry, module as Record<string, unknown>);
		assert.equal((await host.send("load", HEADER)).label, "found");
	}
});

test("a module without a factory fails with the exact text and a name the host can tell apart", async () => {
	const { host } = fixture();
	host.modules.set(HEADER.entry, { default: { nothing: 1 } });
	await assert.rejects(host.send("load", HEADER), {
		name: "InvalidFactoryError",
		message: "Extension does not export a valid factory function: /ext/1.ts",
	});
});

test("registrations arrive in one piece, with their JSON side", async () => {
	const { host } = fixture();
	class Tool {
		name = "greet";
		label = "Greet";
		description = "Greets";
		parameters = { type: "object", [Symbol("kind")]: "Object" };
		defaultActive = false;
		get strict() {
			return true;
		}
		execute() {
			return { content: [] };
		}
		renderCall() {}
	}
	const tool = new Tool();
	const registrations = await load(host, (pi) => {
		pi.on("session_start", () => {});
		pi.on("made_up_event", () => {});
		pi.registerTool(tool);
		pi.registerCommand("hi", { description: "Says hi", handler: () => {}, getArgumentCompletions: () => null });
		pi.registerShortcut("ctrl+x", { handler: () => {} });
		pi.registerFlag("fast", { type: "boolean", default: true });
		pi.registerMessageRenderer("note", () => undefined);
		pi.registerProvider("acme", {
			baseUrl: "https://x",
			models: [{ id: "m" }],
			streamSimple: () => {},
			oauth: { name: "Acme", login() {} },
		});
		pi.registerServiceStatus({ name: "db", check: () => {}, fix: { prompt: "Fix?", command: ["x"] } });
		pi.registerProfileCollector({ id: "p", name: "P", available: () => true, collect: () => ({}) });
		pi.events.on("news", () => {});
	});
	assert.deepEqual(registrations.handlers, [
		{ id: 1, event: "session_start" },
		{ id: 2, event: "made_up_event" },
	]);
	assert.deepEqual(registrations.tools, [
		{
			name: "greet",
			label: "Greet",
			description: "Greets",
			parameters: { type: "object" },
			defaultInactive: true,
			hasPrepareArguments: false,
			hasRenderCall: true,
			hasRenderResult: false,
			hasOnSession: false,
			own: ["name", "label", "description", "parameters", "defaultActive"],
		},
	]);
	assert.deepEqual(registrations.commands, [{ name: "hi", description: "Says hi", hasCompletions: true }]);
	assert.deepEqual(registrations.shortcuts, [{ key: "ctrl+x" }]);
	assert.deepEqual(registrations.flags, [{ name: "fast", type: "boolean", default: true }]);
	assert.deepEqual(registrations.messageRenderers, ["note"]);
	assert.deepEqual(registrations.providers, [
		{
			name: "acme",
			config: { baseUrl: "https://x", models: [{ id: "m" }], oauth: { name: "Acme" } },
			hasStreamSimple: true,
			hasModifyModels: false,
			hasOAuth: true,
			hasRefreshModels: false,
		},
	]);
	assert.deepEqual(registrations.serviceStatus, [{ name: "db", fix: { prompt: "Fix?", command: ["x"] } }]);
	assert.deepEqual(registrations.profileCollectors, [{ id: "p", name: "P" }]);
	assert.deepEqual(registrations.bus, ["news"]);
	assert.equal(host.named("register").length, 0, "nothing reaches the host during loading");
});

test("unknown tool members cross when JSON can carry them, including inherited ones", async () => {
	const { host } = fixture();
	const base = { strict: true, exposure: "deferred", helper: () => 1 };
	const definition = Object.assign(Object.create(base), {
		name: "t",
		parameters: {},
		execute: () => ({ content: [] }),
		annotations: { readOnly: true },
	});
	const [tool] = (await load(host, (pi) => pi.registerTool(definition))).tools ?? [];
	assert.equal(tool?.strict, true);
	assert.equal(tool?.exposure, "deferred");
	assert.deepEqual(tool?.annotations, { readOnly: true });
	assert.equal("helper" in (tool ?? {}), false);
});

test("a second registerTool with one name replaces the first", async () => {
	const { host } = fixture();
	const { tools } = await load(host, (pi) => {
		pi.registerTool({ name: "t", description: "one", parameters: {}, execute() {} });
		pi.registerTool({ name: "t", description: "two", parameters: {}, execute() {} });
	});
	assert.deepEqual(
		tools?.map((t) => t.description),
		["two"],
	);
});

test("a failed factory leaves nothing behind and its API is poisoned", async () => {
	const { host, runtime } = fixture();
	let kept: Any;
	const failure = new Error("boom");
	await assert.rejects(
		load(host, async (pi) => {
			kept = pi;
			pi.registerFlag("f", { type: "string", default: "leak" });
			pi.events.on("c", () => assert.fail("listener of a failed extension was called"));
			await null;
			throw failure;
		}),
		failure,
	);
	assert.equal(runtime.flagValues.size, 0);
	runtime.bus.deliver("c", 1);
	assert.throws(() => kept.on("x", () => {}), {
		message: 'Extension "/ext/1.ts" failed to load and its API is no longer active.',
	});
	assert.throws(() => kept.getFlag("f"), /no longer active/);
	assert.equal(host.calls.length, 0);
});

test("a thrown non-Error becomes an Error with its text", async () => {
	const { host } = fixture();
	await assert.rejects(
		load(host, () => {
			throw "just text";
		}),
		{ name: "Error", message: "just text" },
	);
});

const ACTIONS: [string, unknown[]][] = [
	["sendMessage", [{ customType: "a", content: "b" }]],
	["sendUserMessage", ["x"]],
	["appendEntry", ["x"]],
	["getActiveTools", []],
	["getAllTools", []],
	["setActiveTools", [["read"]]],
	["getCommands", []],
	["setModel", [{ provider: "a", id: "b" }]],
	["getThinkingLevel", []],
	["setThinkingLevel", ["low"]],
	["getSessionName", []],
	["setSessionName", ["n"]],
];

test("every action method throws the named class synchronously during loading", async () => {
	const { host } = fixture();
	const thrown: unknown[] = [];
	await load(host, (pi) => {
		for (const [name, args] of ACTIONS) {
			try {
				pi[name](...args);
				assert.fail(`${name} did not throw`);
			} catch (error) {
				thrown.push(error);
			}
		}
	});
	assert.equal(thrown.length, ACTIONS.length);
	for (const error of thrown as Error[]) {
		assert.ok(error instanceof ExtensionRuntimeNotInitializedError, error.message);
		assert.equal(error.name, "Error");
		assert.equal(error.constructor.name, "ExtensionRuntimeNotInitializedError");
		assert.equal(
			error.message,
			"Extension runtime not initialized. Action methods cannot be called during extension loading.",
		);
	}
});

test("action methods work detached once bound", async () => {
	const { host } = fixture();
	let api: Any;
	await load(host, (pi) => {
		api = pi;
	});
	const { sendMessage, getActiveTools } = api;
	assert.throws(() => getActiveTools(), ExtensionRuntimeNotInitializedError, "loaded is not bound");
	await bind(host);
	assert.deepEqual(getActiveTools(), ["read", "bash"]);
	sendMessage({ customType: "c", content: null, details: { a: 1 } }, { triggerTurn: true });
	assert.deepEqual(host.named("sendMessage"), [
		{
			ext: 1,
			message: { customType: "c", content: [], display: true, details: { a: 1 } },
			options: { triggerTurn: true },
		},
	]);
});

test("late registrations are announced one by one and can be taken back", async () => {
	const { host } = fixture();
	let api: Any;
	await load(host, (pi) => {
		api = pi;
	});
	await bind(host);
	const off = api.on("turn_end", () => {});
	api.registerTool({ name: "late", description: "", parameters: {}, execute() {} });
	api.registerCommand("c", { handler() {} });
	assert.deepEqual(
		host.named("register").map((r) => Object.keys(r.change)),
		[["handlers"], ["tools"], ["commands"]],
	);
	off();
	off();
	assert.deepEqual(host.named("unregister"), [{ ext: 1, kind: "handler", id: 1 }]);
});

test("a provider the host refuses late is not kept", async () => {
	const { host, runtime } = fixture();
	let api: Any;
	await load(host, (pi) => {
		api = pi;
	});
	host.sync.register = () => {
		throw new Error('Provider acme: "baseUrl" is required when defining models.');
	};
	assert.throws(() => api.registerProvider("acme", { models: [] }), /baseUrl/);
	assert.equal(runtime.record(1).providers.size, 0);
});

test("bad registrations are refused with the member named", async () => {
	const { host } = fixture();
	const cases: [RegExp, (pi: Any) => void][] = [
		[/registerTool: name must be a non-empty string/, (pi) => pi.registerTool({ parameters: {}, execute() {} })],
		[
			/registerTool\("t"\): parameters must be a JSON Schema object, got undefined/,
			(pi) => pi.registerTool({ name: "t", execute() {} }),
		],
		[/registerTool\("t"\): execute must be a function/, (pi) => pi.registerTool({ name: "t", parameters: {} })],
		[/registerCommand: name must be a non-empty string, got ""/, (pi) => pi.registerCommand("", { handler() {} })],
		[
			/registerCommand\("c"\): handler must be a function, got a string/,
			(pi) => pi.registerCommand("c", { handler: "x" }),
		],
		[/registerFlag\("f"\): type must be/, (pi) => pi.registerFlag("f", { type: "number" })],
		[
			/registerFlag\("f"\): default must be a boolean, got a string/,
			(pi) => pi.registerFlag("f", { type: "boolean", default: "x" }),
		],
		[/on\("e"\): handler must be a function/, (pi) => pi.on("e")],
		[/registerProvider\("p"\): streamSimple must be a function/, (pi) => pi.registerProvider("p", { streamSimple: 1 })],
	];
	for (const [expected, run] of cases) await assert.rejects(load(fixture().host, run), expected);
	assert.equal(host.calls.length, 0);
});

test("pi's provider object form is accepted", async () => {
	const { host } = fixture();
	const provider = {
		id: "local",
		name: "Local",
		models: [{ id: "m1" }],
		getModels() {
			return this.models;
		},
		streamSimple() {},
	};
	const { providers } = await load(host, (pi) => pi.registerProvider(provider));
	assert.equal(providers?.[0]?.name, "local");
	assert.deepEqual(providers?.[0]?.config, { name: "Local", models: [{ id: "m1" }] });
	assert.equal(providers?.[0]?.hasStreamSimple, true);
});

test("optional members of relatives are accepted, without effect, and logged once", async () => {
	const { host } = fixture();
	await load(host, (pi) => {
		pi.registerMcpServer("x", {});
		pi.registerMcpServer("y", {});
		pi.registerComposerShape({});
		assert.deepEqual(pi.getMcpServers(), []);
	});
	assert.deepEqual(
		host.named("log").map((l) => l.message),
		["pi.registerMcpServer has no effect in this host", "pi.registerComposerShape has no effect in this host"],
	);
});

test("library members come from the host modules, and say so when absent", async () => {
	const { host, runtime } = fixture();
	const typebox = { Type: {} };
	runtime.namespaces.typebox = typebox;
	await load(host, (pi) => {
		assert.equal(pi.typebox, typebox);
		assert.throws(() => pi.pi, /pi\.pi needs the package "pi"/);
	});
});

test("setLabel tells its two forms apart by the number of arguments", async () => {
	const { host } = fixture();
	let api: Any;
	const { label } = await load(host, (pi) => {
		api = pi;
		pi.setLabel("My extension");
		assert.throws(() => pi.setLabel("id", "x"), ExtensionRuntimeNotInitializedError);
	});
	assert.equal(label, "My extension");
	await bind(host);
	api.setLabel("00000001", undefined);
	api.setLabel("00000001", "mark");
	api.setLabel("Other");
	assert.deepEqual(host.named("setEntryLabel"), [{ entryId: "00000001" }, { entryId: "00000001", label: "mark" }]);
	assert.deepEqual(host.named("setLabel"), [{ ext: 1, label: "Other" }]);
});

test("getAllTools follows the profile", async () => {
	for (const [profile, expected] of [
		["xcsh", ["read"]],
		["pi", [{ name: "read", description: "Reads", parameters: {} }]],
	] as const) {
		const { host } = fixture();
		let api: Any;
		await load(
			host,
			(pi) => {
				api = pi;
			},
			{ profile },
		);
		await bind(host);
		assert.deepEqual(api.getAllTools(), expected);
	}
});

test("a handler that was unsubscribed after the host took its list does nothing", async () => {
	const { host } = fixture();
	let calls = 0;
	let off: Any;
	const registrations = await load(host, (pi) => {
		off = pi.on("turn_end", () => {
			calls++;
		});
	});
	await bind(host);
	off();
	assert.equal(await emit(host, registrations, { type: "turn_end" }), undefined);
	assert.equal(calls, 0);
});
