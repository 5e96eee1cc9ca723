// Realms: extensions that a session was given as functions have a runtime and a host of their own in the same isolate.

import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import { keepFactories, useRealmStorage, within } from "../../src/api/realm.ts";
import { type Any, bind, fixture, load } from "./fake-host.ts";

useRealmStorage(() => new AsyncLocalStorage());

const HEADER = {
	ext: 1,
	path: "<inline-0>",
	profile: "pi",
	cwd: "/project",
	configDirName: ".pi",
	agentDir: "/agent",
	appName: "pier",
	version: "0",
};

test("host calls go to the session whose extension makes them, wherever its objects are used", async () => {
	const { host, runtime } = fixture();
	let outer: Any;
	await load(host, (pi: Any) => {
		outer = pi;
	});
	await bind(host);
	let inner: Any;
	let seen: Any;
	const token = keepFactories([
		(pi: Any) => {
			inner = pi;
			pi.on("turn_start", async (_event: Any, ctx: Any) => {
				seen = ctx;
				pi.appendEntry("a");
				await Promise.resolve();
				pi.appendEntry("b");
				outer.appendEntry("c");
			});
		},
	]);
	host.sync["@5/session.sync"] = () => ({ epoch: 1, version: 0, reset: true, entries: [], sessionId: "child", cwd: "/c" });
	for (const method of ["@5/stateVersion", "@5/appendEntry"]) host.sync[method] = () => ({ id: "x" });
	const entry = `pier:inline/${token}/0`;
	const { handlers } = await host.send("load", { realm: 5, ...HEADER, entry });
	await host.send("bind", { realm: 5, mode: "print", hasUI: false });
	const appended = () =>
		host.calls
			.filter(({ method }) => method.endsWith("appendEntry"))
			.map(({ method, args }) => `${method} ${args.customType}`);
	await host.send("dispatch", { realm: 5, ext: 1, handler: handlers[0].id, callId: 9 }, { type: "turn_start" });
	inner.appendEntry("d");
	outer.appendEntry("e");
	assert.deepEqual(appended(), [
		"@5/appendEntry a",
		"@5/appendEntry b",
		"appendEntry c",
		"@5/appendEntry d",
		"appendEntry e",
	]);
	assert.equal(seen.sessionManager.getSessionId(), "child");
	assert.equal(within(runtime, () => seen.cwd), "/c");

	await host.send("realmEnd", { realm: 5 });
	await assert.rejects(host.send("bind", { realm: 5, mode: "print", hasUI: false }), /disposed/);
	// What is left of it still does not act on the session around it.
	inner.appendEntry("f");
	assert.equal(appended().at(-1), "@5/appendEntry f");
});

test("a function that is gone is an error of the load", async () => {
	const { host } = fixture();
	await assert.rejects(host.send("load", { realm: 6, ...HEADER, entry: "pier:inline/999/0" }), /was disposed/);
});
