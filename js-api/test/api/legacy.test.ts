// Custom tools and TypeScript commands (extension-loading §8).

import assert from "node:assert/strict";
import { test } from "node:test";
import { splitArguments } from "../../src/api/legacy.ts";
import { type Any, bind, emit, fixture, load } from "./fake-host.ts";

test("a custom tool gets its own argument order, its API and its session events", async () => {
	const { host } = fixture();
	const events: Any[] = [];
	class Tool {
		name = "old";
		label = "Old";
		description = "An older tool";
		parameters = { type: "object" };
		seen: Any;
		async execute(id: string, params: Any, onUpdate: Any, ctx: Any, signal: Any) {
			this.seen = [typeof onUpdate, typeof ctx.isIdle, signal instanceof AbortSignal];
			return { content: [{ type: "text", text: `${id} ${params.a}` }] };
		}
		onSession(event: Any) {
			events.push(event);
		}
	}
	const tool = new Tool();
	const registrations = await load(
		host,
		async (api) => {
			assert.deepEqual(
				[api.cwd, api.hasUI, typeof api.exec, typeof api.pushPendingAction],
				["/project", false, "function", "function"],
			);
			assert.equal(await api.ui.confirm("t", "m"), false);
			return [tool];
		},
		{ surface: "tool", profile: "xcsh" },
	);
	assert.deepEqual(
		registrations.tools?.map((t) => [t.name, t.label, t.description, t.hasOnSession]),
		[["old", "Old", "An older tool", true]],
	);
	await bind(host);
	const result = await host.send("executeTool", { ext: 1, tool: "old", toolCallId: "x", callId: 1 }, { a: 2 });
	assert.equal(result.content[0].text, "x 2");
	assert.deepEqual(tool.seen, ["function", "function", true]);
	await host.send("toolSession", { ext: 1, tool: "old", callId: 2 }, { reason: "start" });
	await emit(host, registrations, { type: "auto_retry_start", attempt: 1 });
	assert.deepEqual(events, [{ reason: "start" }, { type: "auto_retry_start", attempt: 1 }]);
});

test("an extension that returns a tool gets it registered, with a warning", async () => {
	const { host } = fixture();
	const { tools } = await load(host, () => ({ name: "t", parameters: {}, execute: () => "ok" }));
	assert.equal(tools?.[0]?.name, "t");
	assert.match(host.named("log")[0].message, /returns a tool/);
	const plain = fixture();
	assert.deepEqual((await load(plain.host, () => ({ cleanup() {} }))).tools, []);
});

test("a tool module that returns something else fails to load", async () => {
	const { host } = fixture();
	await assert.rejects(
		load(host, () => ({ name: "t" }), { surface: "tool" }),
		/must return a tool or a list of them/,
	);
});

test("commands get words and may answer a prompt", async () => {
	const { host } = fixture();
	const { commands } = await load(
		host,
		() => [
			{ name: "say", description: "Says", execute: async (args: string[]) => `said ${args.join("|")}` },
			{ name: "quiet", execute: async () => undefined },
		],
		{ surface: "command" },
	);
	assert.deepEqual(commands, [
		{ name: "say", description: "Says", hasCompletions: false },
		{ name: "quiet", hasCompletions: false },
	]);
	await bind(host);
	await host.send("runCommand", { ext: 1, command: "say", args: `a "b c" 'd'`, callId: 1 });
	await host.send("runCommand", { ext: 1, command: "quiet", args: "", callId: 2 });
	assert.deepEqual(
		host.named("sendUserMessage").map((m: Any) => m.content),
		["said a|b c|d"],
	);
	assert.deepEqual(splitArguments('  x  "" y'), ["x", "", "y"]);
});
