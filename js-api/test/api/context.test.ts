// Contexts (§4): members, aborts, session control, stale rules.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Any, bind, commandContext, emit, fixture, load, until } from "./fake-host.ts";

test("event contexts read the current state, also detached and spread", async () => {
	const { host } = fixture();
	let ctx: Any;
	const registrations = await load(host, (pi) =>
		pi.on("turn_end", (_e: Any, given: Any) => {
			ctx = given;
		}),
	);
	await bind(host, { mode: "rpc", hasUI: true });
	host.setState({ model: { provider: "p", id: "m" } });
	await emit(host, registrations, { type: "turn_end" });
	const { isIdle, hasPendingMessages, getSystemPrompt } = ctx;
	assert.deepEqual([isIdle(), hasPendingMessages(), getSystemPrompt()], [true, false, "You are Pier."]);
	assert.deepEqual(
		[ctx.mode, ctx.hasUI, ctx.cwd, ctx.model.id, ctx.isProjectTrusted()],
		["rpc", true, "/project", "m", true],
	);
	host.setState({
		idle: false,
		pendingMessages: 2,
		model: { provider: "p", id: "n" },
		contextUsage: { tokens: null, contextWindow: 9, percent: null },
	});
	assert.deepEqual([isIdle(), hasPendingMessages(), ctx.hasQueuedMessages(), ctx.model.id], [false, true, true, "n"]);
	assert.equal(ctx.getContextUsage().tokens, null);
	assert.equal(ctx.toString, Object.prototype.toString);
	assert.match(`${ctx}`, /object Object/);
	ctx.extra = 1;
	assert.equal(ctx.extra, 1, "extensions keep things on contexts");
	assert.equal("isIdle" in ctx && Object.hasOwn(ctx, "cwd"), true);
	assert.equal(ctx.ui, ctx.ui);
	const copy = { ...ctx };
	assert.equal(copy.extra, 1);
	assert.equal(copy.cwd, "/project");
	assert.equal(typeof copy.ui.notify, "function");
	assert.equal("newSession" in ctx, false, "session control is for commands only");
});

test("state is fetched once for each version", async () => {
	const { host } = fixture();
	const { ctx } = await commandContext(host);
	const before = host.named("state").length;
	for (let i = 0; i < 5; i++) ctx.isIdle();
	assert.ok(host.named("state").length <= before + 1);
	host.setState({ idle: false });
	assert.equal(ctx.isIdle(), false);
});

test("an xcsh command context takes a snapshot of the model, a pi one is live", async () => {
	for (const [profile, expected] of [
		["xcsh", "m"],
		["pi", "n"],
	] as const) {
		const { host } = fixture();
		host.setState({ model: { provider: "p", id: "m" } });
		const { ctx } = await commandContext(host, { profile });
		host.setState({ model: { provider: "p", id: "n" } });
		assert.equal(ctx.model.id, expected);
	}
});

test("ctx.signal is the run's signal: one object a run, none when idle", async () => {
	const { host } = fixture();
	const { ctx } = await commandContext(host);
	assert.equal(ctx.signal, undefined);
	host.setState({ runId: 5, idle: false });
	const { signal } = ctx;
	assert.equal(ctx.signal, signal);
	assert.deepEqual(host.named("run.watch"), [{ runId: 5 }]);
	await host.send("abort", { runId: 4 });
	assert.equal(signal.aborted, false);
	await host.send("abort", { runId: 5, reason: "user" });
	assert.equal(signal.aborted, true);
	assert.equal(signal.reason.name, "AbortError");
	host.sync["run.watch"] = () => ({ aborted: true });
	host.setState({ runId: 6 });
	assert.equal(ctx.signal.aborted, true, "a run that was aborted before anybody asked");
});

test("abort, shutdown and compact reach the host", async () => {
	const { host } = fixture();
	const { ctx } = await commandContext(host);
	await ctx.abort();
	ctx.shutdown();
	assert.equal(host.named("abort").length, 1);
	assert.equal(host.named("shutdown").length, 1);
	host.async.compact = () => ({ tokensBefore: 7 });
	let result: Any;
	await ctx.compact({
		customInstructions: "short",
		onComplete: (r: Any) => {
			result = r;
		},
	});
	assert.equal(result.tokensBefore, 7);
	await ctx.compact("as text");
	assert.deepEqual(
		host.named("compact").map((c) => c.customInstructions),
		["short", "as text"],
	);
	host.async.compact = () => {
		throw new Error("Nothing to compact");
	};
	let message = "";
	await ctx.compact({
		onError: (e: Error) => {
			message = e.message;
		},
	});
	assert.equal(message, "Nothing to compact");
	await ctx.compact({ onComplete: () => assert.fail("must not complete") });
	await assert.rejects(ctx.compact(), /Nothing to compact/);
});

test("session control passes its options and releases callbacks", async () => {
	const { host, runtime } = fixture();
	const { ctx } = await commandContext(host);
	host.async.fork = () => ({ cancelled: false });
	host.async.switchSession = () => ({ cancelled: true });
	host.async.navigateTree = () => ({ cancelled: false });
	host.async.reload = () => undefined;
	host.async.waitForIdle = () => undefined;
	assert.deepEqual(await ctx.branch("e1"), { cancelled: false });
	await ctx.fork("e2", { position: "at" });
	assert.deepEqual(await ctx.switchSession("/other.jsonl", { withSession() {} }), { cancelled: true });
	await ctx.navigateTree("e3", { summarize: true, label: "x", junk: 1 });
	await ctx.reload();
	await ctx.waitForIdle();
	const [first, second] = host.named("fork");
	assert.deepEqual([first.entryId, first.position, second.position], ["e1", "before", "at"]);
	assert.equal(typeof host.named("switchSession")[0].withSession, "number");
	const { callId: _c, ...navigate } = host.named("navigateTree")[0];
	assert.deepEqual(navigate, { targetId: "e3", summarize: true, label: "x" });
	assert.equal(runtime.callbacks.size, 0);
	await assert.rejects(ctx.fork("e", { position: "middle" }), /position must be/);
	await assert.rejects(ctx.fork(), /entryId must be a string/);
});

test("newSession runs setup with a mutable manager and withSession with a fresh context", async () => {
	const { host } = fixture();
	const { ctx, pi } = await commandContext(host);
	host.sync["session.append"] = ({ entry }: Any) => ({ id: host.append(entry) });
	host.async.newSession = async ({ setup, withSession }: Any) => {
		await host.send("callback", { handle: setup, callId: 900 }, [null]);
		await host.send("stale", { ext: 1 });
		await host.send("callback", { handle: withSession, callId: 901 }, []);
		return { cancelled: false };
	};
	let inside: Any;
	const outcome = await ctx.newSession({
		parentSession: "/old.jsonl",
		setup: async (sm: Any) => {
			sm.appendMessage({ role: "user", content: "seed", timestamp: 1 });
			assert.equal(sm.getEntries().length, 1);
		},
		withSession: async (fresh: Any) => {
			inside = fresh.cwd;
			await fresh.sendUserMessage("go");
		},
	});
	assert.deepEqual(outcome, { cancelled: false });
	assert.equal(inside, "/project");
	assert.equal(host.named("session.append")[0].callId, 900);
	assert.equal(host.named("sendUserMessage")[0].content, "go");
	assert.throws(() => ctx.cwd, /^StaleExtensionError: This extension ctx is stale after session replacement or reload/);
	assert.throws(() => pi.sendMessage({ customType: "a", content: "" }), /stale/);
});

test("pi contexts and API go stale, xcsh ones live on; unsubscribing stays callable", async () => {
	for (const profile of ["pi", "xcsh"] as const) {
		const { host } = fixture();
		const { ctx, pi } = await commandContext(host, { profile });
		const off = pi.on("turn_end", () => {});
		const offBus = pi.events.on("c", () => {});
		await host.send("stale", { ext: 1 });
		if (profile === "pi") {
			for (const use of [
				() => ctx.ui,
				() => ctx.sessionManager,
				() => ctx.isIdle(),
				() => ctx.model,
				() => pi.getFlag("x"),
				() => pi.events.emit("c"),
				() => pi.registerCommand("x", { handler() {} }),
			]) {
				assert.throws(use, {
					name: "StaleExtensionError",
					message: /^This extension ctx is stale after session replacement or reload/,
				});
			}
			await assert.rejects(ctx.newSession(), { name: "StaleExtensionError" });
			await assert.rejects(pi.exec("true"), { name: "StaleExtensionError" });
		} else {
			assert.equal(ctx.isIdle(), true);
			pi.events.emit("c");
		}
		off();
		offBus();
	}
});

test("in background mode session control is cancelled without asking the host", async () => {
	const { host } = fixture();
	const { ctx } = await commandContext(host, { bind: { mode: "tui", hasUI: true, ui: { flavor: "background" } } });
	for (const call of [ctx.newSession(), ctx.branch("e"), ctx.navigateTree("e"), ctx.switchSession("/x")]) {
		assert.deepEqual(await call, { cancelled: true });
	}
	await ctx.reload();
	assert.equal(host.named("reload").length, 0);
});

test("project_trust handlers get the reduced context, session_directory handlers none", async () => {
	const { host } = fixture();
	const seen: Any[] = [];
	const registrations = await load(host, (pi) => {
		pi.on("project_trust", (_e: Any, ctx: Any) => seen.push(ctx));
		pi.on("session_directory", (_e: Any, ctx: Any) => seen.push(ctx));
	});
	await bind(host);
	await emit(host, registrations, { type: "project_trust", cwd: "/project" });
	await emit(host, registrations, { type: "session_directory", cwd: "/project" });
	assert.deepEqual(Object.keys(seen[0]).sort(), ["cwd", "hasUI", "mode", "ui"]);
	assert.deepEqual(Object.keys(seen[0].ui).sort(), ["confirm", "input", "notify", "select"]);
	assert.equal(seen[1], undefined);
});

test("host errors keep their class", async () => {
	const { host } = fixture();
	const { ctx } = await commandContext(host);
	host.sync.shutdown = () => {
		throw Object.assign(new Error("call 5 was revoked"), { name: "CallRevokedError" });
	};
	const { CallRevokedError } = await import("../../src/api/errors.ts");
	assert.throws(() => ctx.shutdown(), CallRevokedError);
	host.async.waitForIdle = () => {
		throw Object.assign(new Error("would wait for itself"), { name: "TypeError" });
	};
	await assert.rejects(ctx.waitForIdle(), TypeError);
});

test("commands, shortcuts, completions, service checks and collectors run", async () => {
	const { host } = fixture();
	const ran: Any[] = [];
	await load(host, (pi) => {
		pi.registerCommand("c", {
			handler: (args: string) => ran.push(["c", args]),
			getArgumentCompletions: async (prefix: string) => [{ value: `${prefix}1` }, "plain"],
		});
		pi.registerCommand("plain", { handler() {} });
		pi.registerCommand("bad", {
			handler: async () => {
				throw new RangeError("on purpose");
			},
		});
		pi.registerShortcut("ctrl+x", { handler: (ctx: Any) => ran.push(["s", typeof ctx.newSession]) });
		pi.registerServiceStatus({ name: "db", check: async () => ({ state: "connected" }) });
		pi.registerProfileCollector({
			id: "p",
			name: "P",
			available: async () => true,
			collect: async () => ({ name: "N" }),
		});
		pi.registerProfileCollector({
			id: "q",
			name: "Q",
			available: () => false,
			collect: () => assert.fail("not available"),
		});
	});
	await bind(host);
	await host.send("runCommand", { ext: 1, command: "c", args: " x  y", callId: 1 });
	await host.send("shortcut", { ext: 1, key: "ctrl+x", callId: 2 });
	assert.deepEqual(ran, [
		["c", " x  y"],
		["s", "function"],
	]);
	assert.deepEqual(await host.send("completions", { ext: 1, command: "c", prefix: "a" }), [
		{ value: "a1", label: "a1" },
		{ value: "plain", label: "plain" },
	]);
	assert.equal(await host.send("completions", { ext: 1, command: "plain", prefix: "" }), null);
	assert.deepEqual(await host.send("serviceStatus", { ext: 1, name: "db", callId: 3 }), { state: "connected" });
	assert.deepEqual(await host.send("profileCollect", { ext: 1, id: "p", callId: 4 }), {
		available: true,
		profile: { name: "N" },
	});
	assert.deepEqual(await host.send("profileCollect", { ext: 1, id: "q", callId: 5 }), { available: false });
	await assert.rejects(host.send("runCommand", { ext: 1, command: "bad", args: "", callId: 6 }), RangeError);
	await assert.rejects(
		host.send("runCommand", { ext: 1, command: "none", args: "", callId: 7 }),
		/Command "none" is not registered by \/ext\/1\.ts/,
	);
	await assert.rejects(
		host.send("runCommand", { ext: 9, command: "c", args: "", callId: 8 }),
		/Extension 9 is not loaded/,
	);
});

test("unknown call kinds are refused", async () => {
	const { host } = fixture();
	await assert.rejects(async () => host.send("constructor"), /Unknown call kind "constructor"/);
	await until(() => true);
});
