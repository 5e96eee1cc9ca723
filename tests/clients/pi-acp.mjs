/**
 * The npm package `pi-acp`, unmodified, between Pier and an ACP client: editors that speak the Agent Client Protocol
 * start it, and it starts `pi --mode rpc`. This script is the editor's side, over the protocol's own library.
 *
 * The adapter maps `select` and `confirm` to permission requests and cancels `input` and `editor` with a word about it.
 * It has no steering: what an editor sends during a run waits in the adapter until the run has settled.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { ClientSideConnection, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { ABORTED_PROMPT, ASK_ALL, step } from "./support.mjs";

const adapter = spawn(process.execPath, [createRequire(import.meta.url).resolve("pi-acp")], {
	env: { ...process.env, PI_ACP_PI_COMMAND: process.env.PIER_BIN },
	stdio: ["pipe", "pipe", "inherit"],
});

/** Everything the adapter told the editor, in order, and who waits for something to come. */
const updates = [];
const waiting = new Set();
/** How the person at the editor decides: by the title of the request, the name of the option. */
const decisions = { "Which way?": "right", "Go on?": "Yes" };
let permission = (request) =>
	request.options.find((option) => option.name === decisions[request.toolCall.title]).optionId;

const editor = new ClientSideConnection(
	() => ({
		async sessionUpdate({ update }) {
			updates.push(update);
			for (const check of waiting) check(update);
		},
		async requestPermission(request) {
			return { outcome: { outcome: "selected", optionId: await permission(request) } };
		},
	}),
	ndJsonStream(Writable.toWeb(adapter.stdin), Readable.toWeb(adapter.stdout)),
);

function next(fits, what) {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => {
			waiting.delete(check);
			reject(new Error(`no ${what} within 20 s; updates: ${JSON.stringify(updates)}`));
		}, 20_000);
		const check = (update) => {
			if (!fits(update)) return;
			clearTimeout(timer);
			waiting.delete(check);
			resolve(update);
		};
		waiting.add(check);
	});
}
const said = (from) =>
	updates
		.slice(from)
		.filter((update) => update.sessionUpdate === "agent_message_chunk")
		.map((update) => update.content.text)
		.join("");
const prompt = (text) => editor.prompt({ sessionId, prompt: [{ type: "text", text }] });
let sessionId;

await step("start", async () => {
	const hello = await editor.initialize({ protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
	assert.equal(hello.agentInfo.name, "pi-acp");
	const commands = next((update) => update.sessionUpdate === "available_commands_update", "list of commands");
	const session = await editor.newSession({ cwd: process.cwd(), mcpServers: [] });
	sessionId = session.sessionId;
	assert.ok(session.models.availableModels.some((model) => model.modelId === "scripted/scripted-1"));
	assert.equal(session.models.currentModelId, "scripted/scripted-1");
	assert.ok((await commands).availableCommands.some((command) => command.name === "compact"));
});

await step("a prompt with a tool call", async () => {
	const from = updates.length;
	const result = await prompt('@tool bash {"command":"printf from-bash"}');
	assert.equal(result.stopReason, "end_turn");
	const calls = updates.slice(from).filter((update) => update.sessionUpdate.startsWith("tool_call"));
	assert.deepEqual([calls[0].sessionUpdate, calls[0].status], ["tool_call", "pending"]);
	assert.equal(calls[0].title, "printf from-bash");
	assert.ok(calls.some((update) => update.status === "in_progress"));
	assert.equal(calls.at(-1).status, "completed");
	assert.ok(calls.some((update) => update._meta?.terminal_output?.data.includes("from-bash")));
	assert.match(said(from), /from-bash/);
	assert.ok(updates.slice(from).some((update) => update.sessionUpdate === "usage_update" && update.used > 0));
});

await step("dialogs of all four kinds", async () => {
	const from = updates.length;
	assert.equal((await prompt(ASK_ALL)).stopReason, "end_turn");
	const results = updates
		.slice(from)
		.filter((update) => update.sessionUpdate === "tool_call_update" && update.status === "completed")
		.map((update) => update.content[0].content.text);
	assert.deepEqual(results.sort(), [
		"confirm gave true",
		"editor gave null",
		"input gave null",
		'select gave "right"',
	]);
	assert.match(said(from), /Pi input UI request is not supported in ACP yet/);
});

await step("a message while a tool waits", async () => {
	const from = updates.length;
	const asked = new Promise((resolve) => {
		permission = () => {
			const decision = Promise.withResolvers();
			resolve(decision);
			return decision.promise;
		};
	});
	const first = prompt('@tool ask {"kind":"confirm"}');
	const dialog = await asked;
	const queued = next((update) => update._meta?.piAcp?.queueDepth === 1, "word that the message waits");
	const second = prompt("turn left instead");
	await queued;
	dialog.resolve("no");
	assert.equal((await first).stopReason, "end_turn");
	assert.equal((await second).stopReason, "end_turn");
	const text = said(from);
	assert.match(text, /confirm gave false/);
	assert.ok(text.indexOf("confirm gave false") < text.indexOf("echo: turn left instead"), text);
});

await step("abort in the middle of an answer", async () => {
	const writing = next((update) => update.sessionUpdate === "agent_message_chunk" && update.content.text === "a ", "text");
	const run = prompt(ABORTED_PROMPT);
	await writing;
	await editor.cancel({ sessionId });
	assert.equal((await run).stopReason, "cancelled");
	assert.equal((await prompt("still there?")).stopReason, "end_turn");
});

await step("what else the adapter offers", async () => {
	const chosen = await editor.setSessionConfigOption({ sessionId, configId: "model", value: "scripted/scripted-think" });
	assert.ok(chosen.configOptions.some((option) => option.currentValue === "scripted/scripted-think"));
	await editor.setSessionMode({ sessionId, modeId: "low" });
	for (const [command, answer] of [
		["/name a name", /a name/],
		["/session", /Messages/i],
		["/steering all", /all/],
		["/autocompact off", /disabled/],
		["/compact", /compact/i],
		["/export", /Session exported/],
	]) {
		const from = updates.length;
		await prompt(command);
		assert.match(said(from), answer, command);
	}
	const { sessions } = await editor.listSessions({ cwd: process.cwd() });
	assert.deepEqual(
		sessions.map((session) => [session.sessionId, session.title]),
		[[sessionId, "a name"]],
	);
	const from = updates.length;
	await editor.loadSession({ sessionId, cwd: process.cwd(), mcpServers: [] });
	const again = updates.slice(from);
	assert.ok(again.some((update) => update.sessionUpdate === "user_message_chunk" && update.content.text === "still there?"));
	assert.equal((await prompt("and after loading?")).stopReason, "end_turn");
});

await step("stop", async () => {
	const ended = new Promise((resolve) => adapter.once("exit", resolve));
	adapter.stdin.end();
	assert.equal(await ended, 0);
});
process.exit(0);
