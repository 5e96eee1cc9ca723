// The session mirror and `ctx.sessionManager` (§4.6).

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Any, commandContext, fixture } from "./fake-host.ts";

const user = (text: string) => ({ type: "message", message: { role: "user", content: text, timestamp: 1 } });

test("readers answer from the mirror and only new entries cross", async () => {
	const { host } = fixture();
	host.append(user("one"));
	host.append(user("two"));
	const { ctx } = await commandContext(host);
	const sm = ctx.sessionManager;
	assert.equal(sm.getEntries().length, 2);
	assert.equal(sm.getBranch().length, 2);
	assert.equal(host.named("session.sync").length, 1, "unchanged state needs no sync");
	host.append(user("three"));
	assert.deepEqual(
		sm.getBranch().map((e: Any) => e.message.content),
		["one", "two", "three"],
	);
	assert.deepEqual(host.named("session.sync"), [
		{},
		{ epoch: 1, version: 2 },
	]);
});

test("plain readers", async () => {
	const { host } = fixture();
	const id = host.append(user("one"));
	const { ctx, pi } = await commandContext(host);
	const { getCwd, getSessionId, getSessionFile, getSessionDir, getHeader, getLeafId, getLeafEntry, getEntry } =
		ctx.sessionManager;
	assert.deepEqual(
		[getCwd(), getSessionId(), getSessionFile(), getSessionDir(), getLeafId()],
		["/project", "s1", "/sessions/one.jsonl", "/sessions", id],
	);
	assert.equal(getHeader().version, 3);
	assert.equal(getLeafEntry(), getEntry(id));
	assert.equal(getEntry("nope"), undefined);
	assert.equal(pi.getSessionName(), undefined);
	await pi.setSessionName("named");
	assert.equal(pi.getSessionName(), "named");
});

test("an appended entry is visible at once, with the object that was appended", async () => {
	const { host } = fixture();
	const { ctx, pi } = await commandContext(host);
	const data = { seen: new Map([["a", 1]]) };
	assert.equal(pi.appendEntry("state", data), undefined);
	const [entry] = ctx.sessionManager.getBranch();
	assert.equal(entry.customType, "state");
	assert.equal(entry.data, data);
	pi.appendEntry("empty");
	assert.equal("data" in host.named("appendEntry")[1], false);
});

test("entries are frozen, lists are the caller's own", async () => {
	const { host } = fixture();
	host.append(user("one"));
	const { ctx } = await commandContext(host);
	const entries = ctx.sessionManager.getEntries();
	assert.throws(() => {
		entries[0].message.content = "changed";
	}, TypeError);
	entries.length = 0;
	assert.equal(ctx.sessionManager.getEntries().length, 1);
});

test("a new epoch replaces the mirror", async () => {
	const { host } = fixture();
	host.append(user("old"));
	const { ctx } = await commandContext(host);
	assert.equal(ctx.sessionManager.getEntries().length, 1);
	host.entries.length = 0;
	host.leafId = null;
	host.epoch = 2;
	host.append(user("new"));
	assert.deepEqual(
		ctx.sessionManager.getEntries().map((e: Any) => e.message.content),
		["new"],
	);
});

test("branches, trees and labels", async () => {
	const { host } = fixture();
	const a = host.append(user("a"));
	const b = host.append(user("b"));
	host.leafId = a;
	const c = host.append(user("c"));
	const { ctx, pi } = await commandContext(host);
	const sm = ctx.sessionManager;
	assert.deepEqual(
		sm.getBranch().map((e: Any) => e.id),
		[a, c],
	);
	assert.deepEqual(
		sm.getBranch(b).map((e: Any) => e.id),
		[a, b],
	);
	pi.setLabel(b, "marked");
	assert.equal(sm.getLabel(b), "marked");
	const [root, ...others] = sm.getTree();
	assert.equal(others.length, 0);
	assert.deepEqual(
		root.children.map((n: Any) => [n.entry.id, n.label]),
		[
			[b, "marked"],
			[c, undefined],
		],
	);
	pi.setLabel(b, undefined);
	assert.equal(sm.getLabel(b), undefined);
});

test("cycles and missing parents end a path", async () => {
	const { host } = fixture();
	const a = host.append(user("a"));
	const b = host.append(user("b"));
	const first = host.entries[0];
	assert.ok(first);
	first.parentId = b;
	const { ctx } = await commandContext(host);
	assert.deepEqual(
		ctx.sessionManager.getBranch().map((e: Any) => e.id),
		[a, b],
	);
	host.append({ type: "custom", customType: "x", parentId: "missing" });
	assert.equal(ctx.sessionManager.getBranch().length, 1);
	assert.ok(ctx.sessionManager.getTree().length >= 1);
});

test("context entries follow the last compaction and context edits", async () => {
	const { host } = fixture();
	host.append(user("dropped"));
	const kept = host.append(user("kept"));
	host.append({ type: "compaction", summary: "S", firstKeptEntryId: kept, tokensBefore: 9 });
	const hidden = host.append(user("hidden"));
	const changed = host.append(user("original"));
	host.append({ type: "context_edit", targetId: hidden, replacement: null });
	host.append({ type: "context_edit", targetId: changed, replacement: { content: "edited" } });
	host.append({ type: "custom_message", customType: "n", content: null, display: true });
	host.append({ type: "model_change", model: "acme/some/model" });
	host.append({ type: "thinking_level_change", thinkingLevel: "high" });
	const { ctx } = await commandContext(host);
	assert.equal(ctx.sessionManager.buildContextEntries()[0].type, "compaction");
	const { messages, model, thinkingLevel } = ctx.sessionManager.buildSessionContext();
	assert.deepEqual(
		messages.map((m: Any) => [m.role, m.content ?? m.summary]),
		[
			["compactionSummary", "S"],
			["user", "kept"],
			["user", "edited"],
			["custom", []],
		],
	);
	assert.deepEqual(model, { provider: "acme", modelId: "some/model" });
	assert.equal(thinkingLevel, "high");
});

test("usage statistics sum assistant messages", async () => {
	const { host } = fixture();
	const usage = { input: 10, output: 5, cacheRead: 1, cacheWrite: 0, cost: { total: 0.5 } };
	host.append({ type: "message", message: { role: "assistant", content: [], usage } });
	host.append({ type: "message", message: { role: "assistant", content: [], usage } });
	const { ctx } = await commandContext(host);
	const total = ctx.sessionManager.getUsageStatistics();
	assert.deepEqual(total, { input: 20, output: 10, cacheRead: 2, cacheWrite: 0, cost: 1, premiumRequests: 0 });
});
