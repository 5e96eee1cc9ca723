// Pier as a child process: started with the flags of RPC mode, its standard error kept for reports.

import { spawn } from "node:child_process";
import { PierError, type End } from "./errors.js";
import { settlesWithin } from "./wait.js";
import { type Transport, writeTo } from "./transport.js";

export interface ProcessOptions {
	/** The program: a path, or a name that is looked for on the PATH. `pier` when absent. */
	command?: string;
	/** Flags besides those that choose RPC mode, such as `["--model", "…"]`. */
	args?: readonly string[];
	/** Working directory of the session; this process's own when absent. */
	cwd?: string;
	/** Variables on top of this process's own; `undefined` removes one. */
	env?: Readonly<Record<string, string | undefined>>;
	/** Gets what Pier and its extensions write to standard error, as it comes. */
	onStderr?: (text: string) => void;
}

/** Characters of standard error that are kept. */
const STDERR_KEPT = 16_384;
/** Milliseconds after the end in which output of the process is still read; a program that it left behind may hold the pipe open for ever. */
const OUTPUT_AFTER_EXIT = 1000;

/** Starts Pier. Rejects when the program cannot be started. */
export async function startProcess(options: ProcessOptions): Promise<Transport> {
	const { command = "pier", args = [], cwd, env, onStderr } = options;
	const child = spawn(command, ["--mode", "rpc", "--rpc-dialect", "union", ...args], {
		cwd,
		env: { ...process.env, ...env },
		stdio: ["pipe", "pipe", "pipe"],
	});
	let stderr = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		stderr = (stderr + text).slice(-STDERR_KEPT);
		onStderr?.(text);
	});
	const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
	const ended = new Promise<End>((resolve) => {
		child.once("exit", async (code, signal) => {
			if (!(await settlesWithin(closed, OUTPUT_AFTER_EXIT))) {
				child.stdout.destroy();
				child.stderr.destroy();
			}
			resolve({ code, signal, stderr });
		});
	});
	await new Promise<void>((resolve, reject) => {
		child.once("spawn", resolve);
		child.once("error", (cause) => {
			const place = cwd === undefined ? "" : ` in ${cwd}`;
			reject(new PierError(`Cannot start "${command}"${place}: ${cause.message}`, { cause }));
		});
	});
	// From now on an error is one of sending a signal to a process that is gone.
	child.on("error", () => undefined);
	return {
		output: child.stdout,
		write: writeTo(child.stdin),
		end: () => child.stdin.end(),
		kill: (signal) => child.kill(signal),
		ended,
	};
}
