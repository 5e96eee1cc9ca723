/**
 * The class `RpcClient` of pi's own package, unmodified, against Pier.
 *
 * Usage: node rpc-client.mjs PACKAGE. The class starts `node CLI_PATH ARGS`; the test puts a program named `node`
 * first on its PATH which runs CLI_PATH itself, so Pier is started with exactly the arguments that the class chose.
 */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { ABORTED_PROMPT, ASK_ALL, ANSWERS, standIn, step, texts, toolText } from "./support.mjs";

const packageName = process.argv[2];
const { RpcClient } = await import(packageName);
/** 0.73.1 is older than settling, dispositions and the commands for the tree. */
const current = packageName.startsWith("@earendil-works/");

/** Members of the class that are no part of its surface. */
const INTERNAL = [
	"constructor",
	"handleLine",
	"createProcessExitError",
	"rejectPendingRequests",
	"send",
	"getData",
	"collectEvents",
];
const rpcClient = new RpcClient({
	cliPath: process.env.PIER_BIN,
	cwd: process.cwd(),
	env: { PATH: `${standIn("node", '#!/bin/sh\nexec "$@"\n')}:${process.env.PATH}` },
});
/** Names of the members that the scenario used. */
const used = new Set();
const client = new Proxy(rpcClient, {
	get(target, name) {
		used.add(name);
		return typeof target[name] === "function" ? target[name].bind(target) : target[name];
	},
});
/** Everything the class passed on, in order. */
const events = [];
client.onEvent((event) => events.push(event));

/** The next event from now on that fits; the class itself has no such thing. */
function next(fits, what) {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => {
			stop();
			reject(new Error(`no ${what} within 20 s; events: ${events.map((event) => event.type)}`));
		}, 20_000);
		const stop = client.onEvent((event) => {
			if (!fits(event)) return;
			clearTimeout(timer);
			stop();
			resolve(event);
		});
	});
}
/** The class has no method for answering; its users write to the process. */
const answer = (response) =>
	client.process.stdin.write(`${JSON.stringify({ type: "extension_ui_response", ...response })}\n`);

await step("start", async () => {
	await client.start();
	const state = await client.getState();
	assert.equal(state.model.provider, "scripted");
	assert.equal(state.isStreaming, false);
	assert.equal(state.pendingMessageCount, 0);
	assert.equal(typeof state.sessionFile, "string");
	await assert.rejects(client.start(), /already started/);
});

await step("a prompt with a tool call", async () => {
	const run = await client.promptAndWait('@tool bash {"command":"printf from-bash"}');
	const types = run.map((event) => event.type);
	const order = ["agent_start", "turn_start", "message_start", "tool_execution_start", "tool_execution_end", "turn_end"];
	let at = -1;
	for (const type of order) {
		at = types.indexOf(type, at + 1);
		assert.notEqual(at, -1, `${type} is missing or too early in ${types}`);
	}
	assert.equal(types.at(-1), current ? "agent_settled" : "agent_end");
	assert.match(toolText(run, "bash"), /from-bash/);
	assert.match(await client.getLastAssistantText(), /from-bash/);
});

await step("dialogs of all four kinds", async () => {
	const stop = client.onEvent((event) => {
		const given = event.type === "extension_ui_request" && ANSWERS[event.method];
		if (given) answer({ id: event.id, ...given });
	});
	const run = await client.promptAndWait(ASK_ALL);
	stop();
	const requests = run.filter((event) => event.type === "extension_ui_request");
	assert.deepEqual(requests.map((event) => event.method).sort(), ["confirm", "editor", "input", "select"]);
	const select = requests.find((event) => event.method === "select");
	assert.deepEqual([select.title, select.options], ["Which way?", ["left", "right"]]);
	assert.deepEqual(texts(run), [
		'confirm gave true',
		'editor gave "edited"',
		'input gave "Ada"',
		'select gave "right"',
	]);
});

await step("steering while a tool waits", async () => {
	const from = events.length;
	const asked = next((event) => event.type === "extension_ui_request", "dialog");
	const end = client.waitForIdle();
	const disposition = await client.prompt('@tool ask {"kind":"confirm"}');
	const request = await asked;
	const steered = await client.steer("turn left instead");
	if (current) assert.deepEqual([disposition, steered], ["started", "queued"]);
	assert.equal((await client.getState()).pendingMessageCount, 1);
	answer({ id: request.id, confirmed: false });
	await end;
	const run = events.slice(from);
	assert.ok(run.some((event) => event.type === "queue_update" && event.steering.includes("turn left instead")));
	const toolEnd = run.findIndex((event) => event.type === "tool_execution_end");
	const arrives = run.findIndex(
		(event) => event.type === "message_start" && JSON.stringify(event.message).includes("turn left instead"),
	);
	assert.ok(toolEnd !== -1 && toolEnd < arrives, "the message comes after the tool");
	assert.equal(await client.getLastAssistantText(), "echo: turn left instead");
});

await step("abort in the middle of an answer", async () => {
	const from = events.length;
	const writing = next((event) => event.assistantMessageEvent?.type === "text_delta", "text");
	await client.prompt(ABORTED_PROMPT);
	await writing;
	await client.abort();
	const run = events.slice(from);
	const last = run.findLast((event) => event.type === "message_end").message;
	assert.equal(last.stopReason, "aborted");
	assert.ok(run.some((event) => event.type === "agent_settled"), "abort answers when the run has settled");
	assert.equal((await client.getState()).isStreaming, false);
	assert.equal((await client.promptAndWait("still there?")).at(-1).type, current ? "agent_settled" : "agent_end");
});

await step("every other method of the class", async () => {
	const models = await client.getAvailableModels();
	const thinking = models.find((model) => model.id === "scripted-think");
	assert.equal((await client.setModel("scripted", "scripted-think")).id, thinking.id);
	await assert.rejects(client.setModel("nobody", "nothing"), /nobody\/nothing/);
	await client.setThinkingLevel("low");
	assert.equal((await client.getState()).thinkingLevel, "low");
	assert.equal(typeof (await client.cycleThinkingLevel()).level, "string");
	assert.equal(typeof (await client.cycleModel()).model.id, "string");
	await client.setModel("scripted", "scripted-1");
	await client.setSteeringMode("all");
	await client.setFollowUpMode("all");
	assert.equal((await client.getState()).steeringMode, "all");
	await client.setAutoCompaction(false);
	await client.setAutoRetry(false);
	await client.abortRetry();
	assert.equal((await client.getState()).autoCompactionEnabled, false);

	const shell = await client.bash("printf 'one\\ntwo'; exit 3");
	assert.deepEqual([shell.output.trim(), shell.exitCode, shell.cancelled], ["one\ntwo", 3, false]);
	const output = next((event) => event.type === "bash_execution_update", "output of bash");
	const endless = client.bash("echo up; sleep 600");
	await output;
	await client.abortBash();
	assert.equal((await endless).cancelled, true);

	await client.followUp("afterwards");
	if (current) {
		assert.deepEqual(await client.clearQueue(), { steering: [], followUp: ["afterwards"] });
		assert.deepEqual(await client.getAvailableThinkingLevels(), ["off"]);
		const { entries, leafId } = await client.getEntries();
		assert.equal(entries.at(-1).id, leafId);
		assert.deepEqual((await client.getEntries(leafId)).entries, []);
		assert.equal((await client.getTree()).leafId, leafId);
	} else {
		const run = client.collectEvents();
		await client.prompt("and now");
		assert.ok(JSON.stringify(await run).includes("echo: afterwards"));
	}

	await client.setSessionName("a name");
	assert.equal((await client.getState()).sessionName, "a name");
	const stats = await client.getSessionStats();
	assert.ok(stats.userMessages >= 5 && stats.toolCalls >= 6 && stats.tokens.total > 0);
	const commands = await client.getCommands();
	assert.ok(commands.some((command) => command.name === "greet" && command.source === "extension"));
	const notified = next((event) => event.method === "notify", "notification");
	await client.prompt("/greet you");
	assert.equal((await notified).message, "hello you");
	assert.equal((await client.exportHtml("page.html")).path, "page.html");
	const summary = await client.compact("be brief");
	assert.equal(typeof summary.summary, "string");

	const first = (await client.getState()).sessionFile;
	const messages = await client.getForkMessages();
	const fork = await client.fork(messages[0].entryId);
	assert.deepEqual([fork.cancelled, fork.text], [false, messages[0].text]);
	assert.deepEqual(await client.switchSession(first), { cancelled: false });
	assert.deepEqual(await client.clone(), { cancelled: false });
	assert.notEqual((await client.getState()).sessionFile, first);
	assert.deepEqual(await client.newSession(), { cancelled: false });
	assert.deepEqual((await client.getMessages()).filter((message) => message.role !== "system"), []);
});

await step("stop", async () => {
	const child = client.process;
	await client.stop();
	// The class kills after a second; Pier must have ended in order before that.
	assert.deepEqual([child.exitCode, child.signalCode], [143, null]);
	assert.equal(client.getStderr(), "");
	const unused = Object.getOwnPropertyNames(RpcClient.prototype).filter((name) => !used.has(name));
	assert.deepEqual(unused.filter((name) => !INTERNAL.includes(name)), [], "the scenario leaves methods out");
});
