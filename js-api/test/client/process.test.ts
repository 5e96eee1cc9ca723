// Pier as a child process, played by scripts: what the client does when it does not start, does not end, or dies.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { PierClient, PierClosedError, PierError, PierTimeoutError } from "../../src/client/index.js";

const directory = mkdtempSync(path.join(tmpdir(), "pier-client-"));
after(() => rmSync(directory, { recursive: true, force: true }));
let count = 0;

/** An executable that runs a script of Node. */
function program(script: string): string {
	count += 1;
	const file = path.join(directory, `pier-${count}`);
	writeFileSync(file, `#!${process.execPath}\n${script}`, { mode: 0o755 });
	return file;
}
const READY = `console.log('{"type":"ready","version":"1"}');`;

test("the program gets the flags of RPC mode, the caller's, its directory and its variables", async () => {
	const script = `const { argv, env } = process;
		process.stdout.write(JSON.stringify({ type: "ready", version: [...argv.slice(2), process.cwd(), env.PIER_X, env.HOME].join() }) + "\\n");
		process.stdin.resume();`;
	const seen: unknown[] = [];
	const client = await PierClient.start({
		command: program(script),
		args: ["--no-session"],
		cwd: directory,
		env: { PIER_X: "x", HOME: undefined },
		onEvent: (event) => seen.push(event),
	});
	const end = await client.close();
	assert.equal(end.code, 0);
	assert.deepEqual(seen, [{ type: "ready", version: `--mode,rpc,--rpc-dialect,union,--no-session,${directory},x,` }]);
});

test("a program that is not there, or not allowed, is named", async () => {
	await assert.rejects(PierClient.start({ command: "/nowhere/pier" }), (error) => {
		assert.ok(error instanceof PierError);
		assert.match(error.message, /Cannot start "\/nowhere\/pier".*ENOENT/);
		return true;
	});
	await assert.rejects(PierClient.start({ command: directory }), /Cannot start .*EACCES/);
});

test("a program that ends at once rejects the start with what it said last", async () => {
	const failing = program(`console.error("Warning: x\\nError: Unknown flag --foo"); process.exitCode = 1;`);
	await assert.rejects(PierClient.start({ command: failing }), (error) => {
		assert.ok(error instanceof PierClosedError);
		assert.equal(error.message, "Pier ended with exit code 1: Error: Unknown flag --foo");
		assert.deepEqual([error.exitCode, error.signal], [1, null]);
		assert.match(error.stderr, /^Warning: x\n/);
		return true;
	});
});

test("a program that says nothing is ended when the start has lasted too long, or is given up", async () => {
	const silent = program(`process.stdin.resume();`);
	await assert.rejects(PierClient.start({ command: silent, startTimeout: 50 }), PierTimeoutError);
	await assert.rejects(PierClient.start({ command: silent, signal: AbortSignal.timeout(50) }), /timeout/);
	await assert.rejects(PierClient.start({ command: silent, signal: AbortSignal.abort() }), /abort/);
});

test("a session that could not be made gives its reason", async () => {
	const script = `${READY}
		console.log('{"type":"startup_error","phase":"session","error":"no such session"}');
		process.stdin.once("data", () => process.exit(1));`;
	const client = await PierClient.start({ command: program(script) });
	await assert.rejects(client.send("get_state"), /Pier ended with exit code 1: no such session/);
});

test("a process that dies rejects what waits, with its exit code and the end of its standard error", async () => {
	const script = `${READY}
		process.stdin.once("data", () => {
			process.stderr.write("x".repeat(40000) + "\\npanicked\\n", () => process.kill(process.pid, "SIGKILL"));
		});`;
	const text: string[] = [];
	const client = await PierClient.start({ command: program(script), onStderr: (part) => text.push(part) });
	const closed = client.waitFor("agent_settled");
	const waits = await Promise.allSettled([client.promptAndWait("x"), client.bash("x"), closed]);
	for (const wait of waits) {
		assert.ok(wait.status === "rejected" && wait.reason instanceof PierClosedError);
		assert.equal(wait.reason.message, "Pier was ended by SIGKILL: panicked");
		assert.deepEqual([wait.reason.signal, wait.reason.stderr.length], ["SIGKILL", 16_384]);
	}
	assert.equal(text.join("").length, 40_010);
	assert.equal((await client.close()).signal, "SIGKILL");
});

test("a process that does not end by itself is ended by signals", async () => {
	const deaf = `${READY} process.stdin.resume(); setInterval(() => {}, 1000);`;
	const polite = await PierClient.start({ command: program(deaf) });
	assert.equal((await polite.close({ timeout: 50 })).signal, "SIGTERM");
	const stubborn = await PierClient.start({ command: program(`process.on("SIGTERM", () => {}); ${deaf}`) });
	assert.equal((await stubborn.close({ timeout: 50 })).signal, "SIGKILL");
});

test("a program that was left behind with the pipe open does not hold the end up", async () => {
	const script = `const { spawn } = require("node:child_process");
		const left = spawn("sleep", ["60"], { stdio: "inherit", detached: true });
		console.log(JSON.stringify({ type: "ready", version: String(left.pid) }));
		left.unref(); process.stdin.resume();`;
	let left = "";
	const client = await PierClient.start({
		command: program(script),
		onEvent: (event) => {
			if (event.type === "ready") left = event.version;
		},
	});
	try {
		assert.equal((await client.close({ timeout: 5000 })).code, 0);
	} finally {
		process.kill(Number(left), "SIGKILL");
	}
});
