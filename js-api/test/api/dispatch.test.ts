// Dispatch: results, in-place edits, revived members, aborts, errors (§5, §10, bridge protocol "Edits").

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Any, bind, emit, fixture, load } from "./fake-host.ts";

async function handler(event: string, fn: (event: Any, ctx: Any) => unknown) {
	const f = fixture();
	const registrations = await load(f.host, (pi) => pi.on(event, fn));
	await bind(f.host);
	return {
		...f,
		run: (payload: object, returns?: string[]) =>
			emit(f.host, registrations, { type: event, ...payload }, returns ? { returns } : {}),
	};
}

test("results pass as they are; undefined is no result, null and false are", async () => {
	for (const [result, expected] of [
		[undefined, undefined],
		[{ block: true, reason: "no" }, { result: { block: true, reason: "no" } }],
		[null, { result: null }],
		[false, { result: false }],
	] as const) {
		const sync = await handler("tool_call", () => result);
		assert.deepEqual(await sync.run({ input: {} }), expected);
		const later = await handler("tool_call", async () => result);
		assert.deepEqual(await later.run({ input: {} }), expected);
	}
});

test("a synchronous handler is answered without a promise", async () => {
	const { host, runtime } = await handler("turn_end", () => ({ continue: true }));
	const id = [...runtime.record(1).handlers.keys()][0];
	const answer = host.sendText("dispatch", { ext: 1, handler: id, callId: 1 }, { type: "turn_end" });
	assert.equal(answer, '{"result":{"continue":true}}');
});

test("tool_call: mutations of input come back, replacing it has no effect", async () => {
	const mutate = await handler("tool_call", (e) => {
		e.input.command = "safe";
		e.input.list.push(2);
	});
	assert.deepEqual(await mutate.run({ input: { command: "rm", list: [1] } }, ["input"]), {
		event: { input: { command: "safe", list: [1, 2] } },
	});
	const replace = await handler("tool_call", (e) => {
		e.input = { command: "other" };
	});
	assert.equal(await replace.run({ input: { command: "rm" } }, ["input"]), undefined);
	const leave = await handler("tool_call", () => {});
	assert.equal(await leave.run({ input: { command: "rm" } }, ["input"]), undefined);
	const unasked = await handler("tool_call", (e) => {
		e.input.command = "x";
	});
	assert.equal(await unasked.run({ input: {} }), undefined);
});

test("tool_result: mutations count, assignments are marked", async () => {
	const payload = { content: [{ type: "text", text: "a" }], details: { n: 1 }, isError: false };
	const mutate = await handler("tool_result", (e) => {
		e.content[0].text = "b";
	});
	assert.deepEqual(await mutate.run(payload, ["content", "details"]), {
		event: { content: [{ type: "text", text: "b" }], details: { n: 1 } },
	});
	const assign = await handler("tool_result", (e) => {
		e.details = { n: 2 };
		return { isError: true };
	});
	assert.deepEqual(await assign.run(payload, ["content", "details"]), {
		result: { isError: true },
		event: { content: payload.content, details: { n: 2 } },
		assigned: ["details"],
	});
});

test("context: replaced elements and mutated messages come back", async () => {
	const { run } = await handler("context", (e) => {
		e.messages[0].content = "changed";
		e.messages.push({ role: "user", content: "added" });
	});
	assert.deepEqual(await run({ messages: [{ role: "user", content: "a" }] }, ["messages"]), {
		event: {
			messages: [
				{ role: "user", content: "changed" },
				{ role: "user", content: "added" },
			],
		},
	});
});

test("numbers that the host spells its own way are no edit", async () => {
	const { host, runtime } = await handler("context", () => {});
	const id = [...runtime.record(1).handlers.keys()][0];
	const answer = await host.sendRaw(
		"dispatch",
		{ ext: 1, handler: id, callId: 1, returns: ["messages"] },
		'{"type":"context","messages":[{"cost":0.0}]}',
	);
	assert.equal(answer, undefined);
});

test("headers: deleted and nulled members come back", async () => {
	const { run } = await handler("before_provider_headers", (e) => {
		e.headers["x-a"] = null;
		delete e.headers["x-b"];
		return "ignored";
	});
	assert.deepEqual(await run({ headers: { "x-a": "1", "x-b": "2", "x-c": "3" } }, ["headers"]), {
		result: "ignored",
		event: { headers: { "x-a": null, "x-c": "3" } },
	});
});

test("systemPromptOptions come back; a systemPrompt list is joined", async () => {
	const { run } = await handler("before_agent_start", (e) => {
		e.systemPromptOptions.sections = ["x"];
		return { systemPrompt: ["a", "b"] };
	});
	assert.deepEqual(await run({ prompt: "p", systemPromptOptions: { cwd: "/" } }, ["systemPromptOptions"]), {
		result: { systemPrompt: "a\n\nb" },
		event: { systemPromptOptions: { cwd: "/", sections: ["x"] } },
	});
});

test("compaction preparation holds real sets, in both directions", async () => {
	let seen: Any;
	const { run } = await handler("session_before_compact", (e) => {
		seen = e.preparation.fileOps;
		e.preparation.fileOps.read.add("/b");
	});
	const preparation = { firstKeptEntryId: "1", fileOps: { read: ["/a"], written: [], edited: ["/c"] } };
	const outcome = await run({ preparation, branchEntries: [] }, ["preparation"]);
	assert.ok(seen.read instanceof Set && seen.written instanceof Set && seen.edited instanceof Set);
	assert.deepEqual(outcome.event.preparation.fileOps, { read: ["/a", "/b"], written: [], edited: ["/c"] });
	const quiet = await handler("session_before_compact", () => {});
	assert.equal(await quiet.run({ preparation }, ["preparation"]), undefined);
});

test("compaction and tree handlers get the signal of their call", async () => {
	for (const type of ["session_before_compact", "session_before_tree"]) {
		const { host, run } = await handler(type, async (e) => {
			assert.ok(e.signal instanceof AbortSignal);
			assert.equal(e.signal.aborted, false);
			await host.send("abort", { callId: 100, reason: "stopped" });
			return { cancel: e.signal.aborted, reason: e.signal.reason.message };
		});
		assert.deepEqual(await run({ preparation: {} }), { result: { cancel: true, reason: "stopped" } });
	}
});

test("an abort that arrives before the signal is read counts", async () => {
	const { host, run } = await handler("session_before_tree", async (e) => {
		await host.send("abort", { callId: 100 });
		return { aborted: e.signal.aborted };
	});
	assert.deepEqual(await run({}), { result: { aborted: true } });
});

test("errors keep their identity and class", async () => {
	const error = new RangeError("at a known place");
	const sync = await handler("turn_end", () => {
		throw error;
	});
	await assert.rejects(sync.run({}), error);
	const later = await handler("turn_end", async () => {
		throw error;
	});
	await assert.rejects(later.run({}), error);
});

test("results that JSON cannot carry lose only what it cannot carry", async () => {
	const cyclic: Any = { n: 1n, f: () => 1, ok: true };
	cyclic.self = cyclic;
	const { run } = await handler("input", () => cyclic);
	assert.deepEqual(await run({}), { result: { n: "1", ok: true, self: "[Circular]" } });
});

test("thenables that are not promises are awaited", async () => {
	const { run } = await handler("input", () => ({
		// biome-ignore lint/suspicious/noThenProperty: the case under test.
		then: (resolve: (value: unknown) => void) => resolve({ handled: true }),
	}));
	assert.deepEqual(await run({}), { result: { handled: true } });
});

test("user_bash operations stay here and run by handle", async () => {
	const { host, run } = await handler("user_bash", () => ({
		operations: {
			async exec(command: string, cwd: string, { onData, signal, env }: Any) {
				assert.ok(signal instanceof AbortSignal);
				const bytes = new TextEncoder().encode(`${command}@${cwd} ${env.A} é`);
				onData(bytes.slice(0, bytes.length - 1));
				onData(bytes.slice(bytes.length - 1));
				onData("text");
				return { exitCode: 3 };
			},
		},
	}));
	host.async["bash.data"] = () => undefined;
	const { result } = await run({ command: "ls" });
	const outcome = await host.send(
		"bashExec",
		{ handle: result.operations.handle, callId: 5 },
		{ command: "ls", cwd: "/", env: { A: "1" } },
	);
	assert.deepEqual(outcome, { exitCode: 3 });
	assert.equal(
		host
			.named("bash.data")
			.map((d: Any) => d.data)
			.join("|"),
		// What comes while the host is busy goes together.
		"ls@/ 1 |étext",
	);
	assert.ok(host.named("bash.data").every((d: Any) => d.callId === 5));
	await host.send("release", { handles: [result.operations.handle] });
	await assert.rejects(
		async () => host.send("bashExec", { handle: result.operations.handle, callId: 6 }, {}),
		/unknown handle/,
	);
});

test("output of user_bash operations waits for a host that is slow, and the result waits for the output", async () => {
	const { host, run } = await handler("user_bash", () => ({
		operations: {
			async exec(_command: string, _cwd: string, { onData }: Any) {
				for (let line = 0; line < 10_000; line++) onData(`${line}\n`);
				return { exitCode: null };
			},
		},
	}));
	const taken: string[] = [];
	host.async["bash.data"] = async ({ data }: Any) => {
		await new Promise((resolve) => setTimeout(resolve, 5));
		taken.push(data);
	};
	const { result } = await run({ command: "ls" });
	const outcome = await host.send("bashExec", { handle: result.operations.handle, callId: 5 }, { command: "ls" });
	assert.deepEqual(outcome, { exitCode: null });
	assert.equal(taken.length, 2, "what waited went together");
	assert.equal(taken.join(""), Array.from({ length: 10_000 }, (_, line) => `${line}\n`).join(""));
});

test("invalid user_bash operations are an error", async () => {
	const { run } = await handler("user_bash", () => ({ operations: { run() {} } }));
	await assert.rejects(run({}), /Invalid user_bash handler result: operations must have an exec function/);
});
