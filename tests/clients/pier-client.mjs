/**
 * Pier's own client in TypeScript, as it is published, against Pier: every command that docs/rpc.md lists, dialogs, steering, aborts, tools of the
 * client, components, and processes that hang and die. What came over the wire is then held against the published types by the compiler.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PierClient, PierClosedError, PierCommandError, PierRunError, PierTimeoutError } from "@pier/js-api/client";
import { ABORTED_PROMPT, ANSWERS, ASK_ALL, step, texts, toolText } from "./support.mjs";

const { PIER_BIN, PIER_REPOSITORY } = process.env;
/** Everything that came, for the compiler. */
const events = [];
const responses = [];
const errors = [];
const shown = [];
const dialogs = Object.entries(ANSWERS).map(([kind, answer]) => [kind, () => Object.values(answer)[0]]);
const show = (request) => shown.push(request);
const ui = {
	...Object.fromEntries(dialogs),
	notify: show,
	setStatus: show,
	setWidget: show,
	setTitle: show,
	set_editor_text: show,
	setHeader: show,
	setFooter: show,
};
const client = await PierClient.start({ command: PIER_BIN, ui, onEvent: (event) => events.push(event) });
client.on("client_error", (error) => errors.push(error));

/** Sends a command and keeps its data. */
async function send(command, fields, bounds) {
	const data = await client.send(command, fields, bounds);
	responses.push([command, data]);
	return data;
}
/** The events from now on until a function has ended. */
async function during(run) {
	const from = events.length;
	const result = await run();
	return [result, events.slice(from)];
}

await step("a prompt with a tool call", async () => {
	const [run, seen] = await during(() => client.promptAndWait('@tool bash {"command":"printf from-bash"}'));
	assert.deepEqual([run.disposition, run.text, run.aborted], ["started", "results: bash=from-bash", false]);
	assert.deepEqual(
		run.messages.map((message) => message.role),
		["system", "user", "assistant", "toolResult", "assistant"],
	);
	assert.match(toolText(seen, "bash"), /from-bash/);
	assert.equal(seen.at(-1).type, "agent_settled");
});

await step("a tool that runs another, and an answer that is tried again", async () => {
	const [, nested] = await during(() => client.promptAndWait("@tool nest {}"));
	assert.ok(nested.some((event) => event.type === "tool_execution_end" && event.parentToolCallId !== undefined));
	const [run, retried] = await during(() => client.promptAndWait("@failTimes 1 overloaded\n@text at last"));
	assert.equal(run.text, "at last");
	const types = retried.map((event) => event.type);
	assert.ok(types.includes("auto_retry_start") && types.includes("auto_retry_end"), `${types}`);
});

await step("dialogs of all four kinds", async () => {
	const [, seen] = await during(() => client.promptAndWait(ASK_ALL));
	assert.deepEqual(texts(seen), ['confirm gave true', 'editor gave "edited"', 'input gave "Ada"', 'select gave "right"']);
});

await step("an extension's command, its failure, and the run that one starts", async () => {
	assert.equal(await client.prompt("/greet you"), "handled");
	assert.equal(shown.pop().message, "hello you");
	await assert.rejects(client.prompt("/fail"), (error) => {
		assert.ok(error instanceof PierCommandError);
		assert.match(error.message, /on purpose.*scenario\.ts/);
		assert.deepEqual(error.data, { disposition: "handled" });
		return true;
	});
	const run = await client.promptAndWait("/chat from a command");
	assert.deepEqual([run.disposition, run.text], ["handled", "echo: from a command"]);
	assert.equal((await client.promptAndWait("/greet me")).text, "");
	shown.length = 0;
});

await step("steering while a tool waits", async () => {
	let asked;
	const waits = new Promise((resolve) => {
		asked = resolve;
	});
	let answer;
	client.onUi({
		...ui,
		confirm: () =>
			new Promise((resolve) => {
				answer = resolve;
				asked();
			}),
	});
	const run = client.promptAndWait('@tool ask {"kind":"confirm"}');
	await waits;
	await assert.rejects(client.prompt("not now"), /streamingBehavior/);
	assert.equal(await client.steer("turn left instead"), "queued");
	const joined = client.promptAndWait("and then right", { streamingBehavior: "followUp" });
	await client.waitFor("queue_update", { where: ({ followUp }) => followUp.length === 1, timeout: 20_000 });
	answer(false);
	assert.equal((await run).text, "echo: and then right");
	assert.deepEqual([(await joined).disposition, (await joined).text], ["queued", "echo: and then right"]);
	client.onUi(ui);
});

await step("abort in the middle of an answer, by hand, by time and by signal", async () => {
	const writing = () =>
		client.waitFor("message_update", {
			where: ({ assistantMessageEvent }) => assistantMessageEvent.type === "text_delta",
			timeout: 20_000,
		});
	let begun = writing();
	const run = client.promptAndWait(ABORTED_PROMPT);
	await begun;
	await client.abort();
	const { aborted, messages } = await run;
	assert.deepEqual([aborted, messages.at(-1).stopReason], [true, "aborted"]);
	await assert.rejects(client.promptAndWait(ABORTED_PROMPT, { timeout: 300 }), PierTimeoutError);
	assert.equal((await client.send("get_state")).isStreaming, false);
	const controller = new AbortController();
	begun = writing();
	const stopped = client.promptAndWait(ABORTED_PROMPT, { signal: controller.signal });
	await begun;
	controller.abort(new Error("the user left"));
	await assert.rejects(stopped, /the user left/);
	assert.equal((await client.send("get_state")).isStreaming, false);
});

await step("an abort ends dialogs", async () => {
	let ended;
	const end = new Promise((resolve) => {
		ended = resolve;
	});
	client.onUi({
		confirm: (_request, signal) =>
			new Promise(() => {
				signal.addEventListener("abort", () => ended(signal.reason.message));
				void client.abort();
			}),
	});
	assert.equal((await client.promptAndWait('@tool ask {"kind":"confirm"}')).aborted, true);
	assert.equal(await end, "The run was aborted");
	client.onUi(ui);
});

await step("a model that fails", async () => {
	await assert.rejects(client.promptAndWait("@error no such luck"), (error) => {
		assert.ok(error instanceof PierRunError);
		assert.match(error.answer.errorMessage, /no such luck/);
		return true;
	});
});

await step("tools of the client", async () => {
	let stopped;
	const stop = new Promise((resolve) => {
		stopped = resolve;
	});
	const parameters = { type: "object", properties: { city: { type: "string" } } };
	const names = await client.setHostTools([
		{
			name: "weather",
			description: "Tells the weather",
			parameters,
			execute({ city }, { update }) {
				update(`asking about ${city}`);
				if (city === "Atlantis") throw new Error("it sank");
				return `sunny in ${city}`;
			},
		},
		{
			name: "endless",
			description: "Never answers",
			parameters,
			execute: (_args, { signal }) =>
				new Promise(() => {
					signal.addEventListener("abort", stopped);
					void client.abort();
				}),
		},
	]);
	assert.deepEqual(names, ["weather", "endless"]);
	const [{ text }, seen] = await during(() => client.promptAndWait('@tool weather {"city":"Oslo"}'));
	assert.equal(text, "results: weather=sunny in Oslo");
	const updates = seen.filter((event) => event.type === "tool_execution_update");
	assert.deepEqual(updates[0].partialResult.content, [{ type: "text", text: "asking about Oslo" }]);
	assert.equal((await client.promptAndWait('@tool weather {"city":"Atlantis"}')).text, "results: weather=ERR:it sank");
	assert.equal((await client.promptAndWait("@tool endless {}")).aborted, true);
	await stop;
	await assert.rejects(
		client.setHostTools([{ name: "x", description: " ", parameters, execute: () => "" }]),
		/non-empty description/,
	);
});

await step("components and the rest of the screen", async () => {
	const pictures = [];
	client.onUi({
		...ui,
		async custom(component) {
			for await (const { lines } of component) {
				// A component may be drawn again as it was.
				if (lines[0] === pictures.at(-1)?.[0]) continue;
				pictures.push(lines);
				component.input(lines[1].startsWith(">") ? "\r" : "\u001b[B");
			}
		},
	});
	await client.prompt("/pick");
	assert.deepEqual(pictures, [
		["> one", "  two"],
		["  one", "> two"],
	]);
	assert.equal(shown.pop().message, "picked two");
	client.onUi({ ...ui, custom: (component) => component.close() });
	await client.prompt("/pick");
	assert.equal(shown.pop().message, "picked nothing");
	client.resize({ columns: 100, rows: 30 });

	const edges = ["setHeader", "setFooter"].map((method) =>
		client.waitFor("extension_ui_request", { where: (request) => request.method === method, timeout: 20_000 }),
	);
	await client.prompt("/dress");
	const [header, footer] = await Promise.all(edges);
	assert.deepEqual([header.lines, footer.lines], [["a header"], ["a footer"]]);
	const of = (method) => shown.find((request) => request.method === method);
	assert.equal(of("setStatus").statusText, "dressed");
	assert.deepEqual([of("setWidget").widgetLines, of("setWidget").widgetPlacement], [["a widget"], "belowEditor"]);
	assert.deepEqual([of("setTitle").title, of("set_editor_text").text], ["a title", "a text"]);
});

await step("shell commands, and waits that end before them", async () => {
	let printed = "";
	const outcome = await client.bash("printf 'one\\ntwo'; exit 3", { onOutput: (text) => (printed += text) });
	assert.deepEqual([outcome.output.trim(), outcome.exitCode, printed.trim()], ["one\ntwo", 3, "one\ntwo"]);
	const up = client.waitFor("bash_execution_update", { timeout: 20_000 });
	const endless = client.bash("echo up; sleep 600");
	await up;
	await assert.rejects(client.bash("sleep 600", { timeout: 50 }), PierTimeoutError);
	await send("abort_bash");
	assert.equal((await endless).cancelled, true);
});

await step("every other command", async () => {
	await send("prompt", { message: "/greet" });
	await send("steer", { message: "s" });
	await send("follow_up", { message: "f" });
	assert.deepEqual(await send("clear_queue"), { steering: ["s"], followUp: ["f"] });
	await send("abort");
	const over = client.waitFor("agent_settled", { timeout: 20_000 });
	await send("abort_and_prompt", { message: "after the abort" });
	await over;
	assert.match((await send("get_last_assistant_text")).text, /after the abort$/);
	await send("bash", { command: "echo x", excludeFromContext: true });
	const { models } = await send("get_available_models");
	assert.ok(models.some((model) => model.id === "scripted-think"));
	await send("set_model", { provider: "scripted", modelId: "scripted-think" });
	await send("set_thinking_level", { level: "low" });
	assert.ok((await send("get_available_thinking_levels")).levels.includes("low"));
	await send("cycle_thinking_level");
	await client.promptAndWait("think about it");
	await send("cycle_model");
	await send("set_model", { provider: "scripted", modelId: "scripted-1" });
	assert.equal(await send("cycle_thinking_level"), null);
	for (const command of ["set_steering_mode", "set_follow_up_mode"]) await send(command, { mode: "all" });
	await send("set_interrupt_mode", { mode: "wait" });
	for (const command of ["set_auto_compaction", "set_auto_retry"]) await send(command, { enabled: false });
	await send("abort_retry");
	await send("set_locale", { locale: "de" });
	const phases = [{ id: "p", name: "P", tasks: [{ id: "t", content: "T", status: "pending" }] }];
	assert.deepEqual((await send("set_todos", { phases })).todoPhases, phases);
	await send("set_host_tools", { tools: [] });
	await send("get_integrations");
	await send("set_session_name", { name: "a name" });
	const { commands } = await send("get_commands");
	assert.ok(commands.some((command) => command.name === "pick"));
	await send("get_session_stats");
	await send("get_messages");
	assert.equal((await send("export_html", { outputPath: "page.html" })).path, "page.html");
	assert.equal(typeof (await send("compact", { customInstructions: "be brief" })).summary, "string");
	await send("get_session_stats");
	const { entries, leafId } = await send("get_entries");
	assert.deepEqual(await send("get_entries", { since: leafId }), { entries: [], leafId });
	assert.equal(entries.at(-1).id, leafId);
	const { sessionFile, sessionName } = await send("get_state");
	assert.equal(sessionName, "a name");
	for (const [list, replace] of [["get_fork_messages", "fork"], ["get_branch_messages", "branch"]]) {
		const { messages } = await send(list);
		const { cancelled, text } = await send(replace, { entryId: messages.at(-1).entryId });
		assert.deepEqual([cancelled, text], [false, messages.at(-1).text]);
		await send("switch_session", { sessionPath: sessionFile });
	}
	await send("clone");
	await send("new_session");
	await client.promptAndWait("anew");
	// Of a short session: the compiler does not follow a deep tree.
	await send("get_tree");
	await assert.rejects(send("fork", { entryId: "nothing" }), PierCommandError);
	const table = readFileSync(join(PIER_REPOSITORY, "docs/rpc.md"), "utf8").split("## Commands")[1].split("## ")[0];
	const listed = [...table.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell]) => cell.replaceAll("`", "").split(", "));
	assert.ok(listed.length > 35, `the table of docs/rpc.md has ${listed.length} commands`);
	const sent = new Set(responses.map(([command]) => command));
	assert.deepEqual(listed.filter((command) => !sent.has(command)), [], "the scenario leaves commands out");
});

await step("the end, in order", async () => {
	const loop = (async () => {
		for await (const event of client.events()) assert.fail(`an event after the end: ${event.type}`);
	})();
	const { code, signal } = await client.close();
	assert.deepEqual([code, signal], [0, null]);
	await loop;
	await assert.rejects(client.send("get_state"), PierClosedError);
	assert.deepEqual(errors, []);
});

await step("a process that is killed while it works", async () => {
	const dying = await PierClient.start({ command: PIER_BIN, args: ["--no-session"] });
	const run = dying.promptAndWait(ABORTED_PROMPT);
	const waits = await Promise.allSettled([run, dying.bash("kill -9 $PPID"), dying.waitFor("agent_settled")]);
	for (const { reason } of waits) {
		assert.ok(reason instanceof PierClosedError);
		assert.equal(reason.signal, "SIGKILL");
	}
});

await step("a process that stands still", async () => {
	const still = await PierClient.start({ command: PIER_BIN, args: ["--no-session"] });
	// The start is over then, however slow the machine is.
	await still.promptAndWait("hello");
	// The shell goes on for a while: the stop reaches one thread after the other, and an end of the shell could win.
	const stopped = still.bash("kill -STOP $PPID; sleep 2").catch((error) => error);
	const untilItHangs = async () => {
		for (;;) await still.send("get_state", {}, { timeout: 1000 });
	};
	await assert.rejects(untilItHangs(), PierTimeoutError);
	assert.equal((await still.close({ timeout: 200 })).signal, "SIGKILL");
	assert.ok((await stopped) instanceof PierClosedError);
});

await step("a start that fails, at once or when the extensions are loaded", async () => {
	const wrong = (...args) => PierClient.start({ command: PIER_BIN, args });
	await assert.rejects(wrong("--rpc-dialect", "klingon"), (error) => {
		assert.ok(error instanceof PierClosedError);
		assert.equal(error.exitCode, 1);
		assert.match(error.message, /klingon/);
		return true;
	});
	const started = await wrong("--no-such-flag");
	const closed = new Promise((resolve) => {
		started.on("closed", resolve);
	});
	await assert.rejects(started.send("get_commands"), /no-such-flag/);
	const { exitCode, message } = await closed;
	assert.equal(exitCode, 1);
	assert.match(message, /no-such-flag/);
});

await step("the published types say what came over the wire", async () => {
	const typed = [
		...events.map((event) => ["PierEvent", event]),
		...responses.map(([command, data]) => [`Data<"${command}">`, data]),
	];
	const lines = typed.map(([type, value], number) => `export const r${number}: ${type} = ${JSON.stringify(value)};`);
	writeFileSync("records.ts", `import type { Data, PierEvent } from "@pier/js-api/client";\n${lines.join("\n")}\n`);
	const installed = join(PIER_REPOSITORY, "js-api/node_modules");
	const args = "--noEmit --strict --skipLibCheck --target es2022 --module nodenext --types node records.ts".split(" ");
	const tsc = spawnSync(
		process.execPath,
		[join(installed, "typescript/bin/tsc"), ...args, "--typeRoots", join(installed, "@types")],
		{ encoding: "utf8" },
	);
	const named = tsc.stdout.replaceAll(/^records\.ts\((\d+),.*$/gm, (line, number) => `${line}\n    ${lines[number - 2]}`);
	assert.equal(tsc.status, 0, named);
});
