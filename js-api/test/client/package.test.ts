// The package as its users get it: packed, installed into a fresh project, checked by the compiler as strictly as it can, and run.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

/** Tests run in js-api. */
const root = process.cwd();

/** An editor's use of the client; the lines with `@ts-expect-error` must not compile. */
const PROGRAM = `
import { PierClient, PierCommandError, textOf, type AssistantMessage, type PierEvent, type Transport } from "@pier/js-api/client";
import type { ExtensionAPI } from "@pier/js-api";

export type Extension = (pi: ExtensionAPI) => void;
export const connect = (transport: Transport) => new PierClient(transport);
export const shown = (message: AssistantMessage): string => textOf(message);

function describe(event: PierEvent): string {
	switch (event.type) {
		case "tool_execution_start":
			return event.toolName;
		case "message_update":
			return "delta" in event.assistantMessageEvent ? event.assistantMessageEvent.delta : "";
		case "extension_ui_request":
			return event.method === "select" ? event.options.join() : event.method;
		default:
			return event.type;
	}
}

const client = await PierClient.start({
	command: process.argv[2] ?? "pier",
	ui: { confirm: ({ message }, signal) => message.length > 0 && !signal.aborted },
});
const types: string[] = [];
client.on("*", (event) => types.push(describe(event)));
const { sessionId, model } = await client.send("get_state");
const levels: string[] = (await client.send("get_available_thinking_levels")).levels;
const cycled = await client.send("cycle_model");
const refused = await client.send("set_model", { provider: "p", modelId: "m" }).catch((error: unknown) => error);
if (!(refused instanceof PierCommandError)) throw new Error("set_model must be refused");
const end = await client.close();
console.log(JSON.stringify([sessionId, model.id, levels, cycled?.model.id ?? null, refused.command, types, end.code]));

export async function wrong() {
	// @ts-expect-error a field is missing
	await client.send("set_model", { provider: "p" });
	// @ts-expect-error no such command
	await client.send("set_modell");
	// @ts-expect-error not a level
	await client.send("set_thinking_level", { level: "extreme" });
	// @ts-expect-error no such member of the data
	(await client.send("get_state")).sessionIdd;
	// @ts-expect-error no such event
	client.on("agent_begin", () => {});
	// @ts-expect-error a confirmation is no text
	client.onUi({ confirm: () => "yes" });
}
`;

/** Answers each command, and shows one event before that. */
const PIER = `#!${process.execPath}
const send = (record) => process.stdout.write(JSON.stringify(record) + "\\n");
send({ type: "ready", version: "1" });
const data = {
	get_state: { sessionId: "s", model: { id: "m" } },
	get_available_thinking_levels: { levels: ["off"] },
	cycle_model: null,
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
	const { id, type } = JSON.parse(line);
	if (type === "get_state") send({ type: "tool_execution_start", toolCallId: "1", toolName: "read", args: {} });
	const known = type in data;
	send({ id, type: "response", command: type, success: known, ...(known ? { data: data[type] } : { error: "no" }) });
});
`;

test("a fresh project installs, compiles and runs the published package", () => {
	const project = mkdtempSync(path.join(tmpdir(), "pier-package-"));
	const run = (program: string, args: string[], cwd = project) => {
		try {
			return execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
		} catch (error) {
			const { stdout, stderr } = error as { stdout: string; stderr: string };
			throw new Error(`${program} ${args.join(" ")} failed:\n${stdout}\n${stderr}`);
		}
	};
	try {
		run("npm", ["run", "--silent", "build:client"], root);
		run("npm", ["pack", "--silent", "--pack-destination", project], root);
		const [archive] = readdirSync(project);
		assert.ok(archive?.endsWith(".tgz"));

		const manifest = {
			name: "editor",
			version: "1.0.0",
			type: "module",
			dependencies: { "@pier/js-api": `./${archive}` },
		};
		writeFileSync(path.join(project, "package.json"), JSON.stringify(manifest));
		// It needs nothing else, so nothing is fetched.
		run("npm", [
			"install",
			"--offline",
			"--no-audit",
			"--no-fund",
			"--cache",
			path.join(project, ".npm"),
			"--loglevel",
			"error",
		]);
		assert.deepEqual(
			readdirSync(path.join(project, "node_modules")).filter((name) => !name.startsWith(".")),
			["@pier"],
		);

		// Every project in TypeScript for Node has these two.
		mkdirSync(path.join(project, "node_modules/@types"));
		symlinkSync(path.join(root, "node_modules/@types/node"), path.join(project, "node_modules/@types/node"));
		symlinkSync(path.join(root, "node_modules/undici-types"), path.join(project, "node_modules/undici-types"));
		const compilerOptions = {
			strict: true,
			exactOptionalPropertyTypes: true,
			noUncheckedIndexedAccess: true,
			skipLibCheck: false,
			target: "es2022",
			module: "nodenext",
			moduleResolution: "nodenext",
			types: ["node"],
		};
		writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["editor.ts"] }));
		writeFileSync(path.join(project, "editor.ts"), PROGRAM);
		run(process.execPath, [path.join(root, "node_modules/typescript/bin/tsc"), "-p", "."]);

		const pier = path.join(project, "pier.cjs");
		writeFileSync(pier, PIER, { mode: 0o755 });
		const printed = run(process.execPath, ["editor.js", pier]);
		assert.deepEqual(JSON.parse(printed), ["s", "m", ["off"], null, "set_model", ["read"], 0]);
	} finally {
		rmSync(project, { recursive: true, force: true });
	}
});
