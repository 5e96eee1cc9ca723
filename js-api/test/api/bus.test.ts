// The event bus (§9).

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Any, bind, fixture, type Fixture, load, until } from "./fake-host.ts";

async function two({ host }: Fixture): Promise<[Any, Any]> {
	const apis: Any[] = [];
	for (const ext of [1, 2]) await load(host, (pi) => apis.push(pi), { ext });
	await bind(host);
	return [apis[0], apis[1]];
}

test("delivers the very object, in registration order over extensions, before emit returns", async () => {
	const f = fixture();
	const [a, b] = await two(f);
	const seen: string[] = [];
	b.events.on("c", (data: Any) => {
		seen.push("b1");
		data.reply("from b");
	});
	a.events.on("c", () => seen.push("a"));
	b.events.on("c", () => seen.push("b2"));
	let reply = "";
	a.events.emit("c", {
		reply: (text: string) => {
			reply = text;
		},
	});
	assert.deepEqual(seen, ["b1", "a", "b2"]);
	assert.equal(reply, "from b");
});

test("the same function twice is delivered twice; unsubscribing takes one away", async () => {
	const f = fixture();
	const [a] = await two(f);
	let count = 0;
	const listener = () => {
		count++;
	};
	const off = a.events.on("c", listener);
	a.events.on("c", listener);
	a.events.emit("c");
	assert.equal(count, 2);
	off();
	a.events.emit("c");
	assert.equal(count, 3);
});

test("throwing and rejecting listeners are reported and never reach the emitter or the next listener", async () => {
	const f = fixture();
	const [a, b] = await two(f);
	let reached = false;
	b.events.on("c", () => {
		throw new TypeError("sync");
	});
	b.events.on("c", async () => {
		throw new Error("async");
	});
	a.events.on("c", () => {
		reached = true;
	});
	a.events.emit("c", 1);
	assert.ok(reached);
	await until(() => f.host.named("error").length === 2);
	const errors = f.host.named("error").map(({ ext, event, name, message }) => ({ ext, event, name, message }));
	assert.deepEqual(errors, [
		{ ext: 2, event: "events:c", name: "TypeError", message: "sync" },
		{ ext: 2, event: "events:c", name: "Error", message: "async" },
	]);
});

test("nothing is serialised when no other isolate listens", async () => {
	const f = fixture();
	const [a] = await two(f);
	let read = 0;
	a.events.emit("c", {
		get expensive() {
			return ++read;
		},
	});
	assert.equal(read, 0);
	assert.equal(f.host.named("bus.emit").length, 0);
});

test("other isolates get a copy through the host", async () => {
	const f = fixture();
	const [a] = await two(f);
	f.host.sync["bus.targets"] = () => 1;
	a.events.emit("c", { n: 1, when: new Date(0) });
	assert.deepEqual(f.host.named("bus.emit"), [
		{ ext: 1, channel: "c", data: { n: 1, when: "1970-01-01T00:00:00.000Z" } },
	]);
});

test("a payload with functions stays here, with a report that names the member", async () => {
	const f = fixture();
	const [a] = await two(f);
	f.host.sync["bus.targets"] = () => 1;
	let local = 0;
	a.events.on("c", () => {
		local++;
	});
	a.events.emit("c", { jobs: [{ done: () => {} }] });
	const cyclic: Any = {};
	cyclic.self = cyclic;
	a.events.emit("c", cyclic);
	assert.equal(local, 2);
	assert.equal(f.host.named("bus.emit").length, 0);
	assert.match(f.host.named("error")[0].message, /data\.jobs\[0\]\.done has no JSON form/);
	assert.match(f.host.named("error")[1].message, /data\.self/);
});

test("deliveries from other isolates reach the listeners", async () => {
	const f = fixture();
	const [a] = await two(f);
	const seen: unknown[] = [];
	a.events.on("c", (data: unknown) => seen.push(data));
	await f.host.send("busDeliver", { channel: "c", from: 9 }, { hello: 1 });
	assert.deepEqual(seen, [{ hello: 1 }]);
});

test("the host learns of the first listener on a channel and of the last one leaving", async () => {
	const f = fixture();
	const [a] = await two(f);
	const off1 = a.events.on("c", () => {});
	const off2 = a.events.on("c", () => {});
	assert.deepEqual(f.host.named("register"), [{ ext: 1, change: { bus: ["c"] } }]);
	off1();
	assert.equal(f.host.named("unregister").length, 0);
	off2();
	assert.deepEqual(f.host.named("unregister"), [{ ext: 1, kind: "bus", id: "c" }]);
});

test("a listener added during an emission waits for the next one", async () => {
	const f = fixture();
	const [a] = await two(f);
	let late = 0;
	a.events.on("c", () => {
		a.events.on("c", () => {
			late++;
		});
	});
	a.events.emit("c");
	assert.equal(late, 0);
	a.events.emit("c");
	assert.equal(late, 1);
});
