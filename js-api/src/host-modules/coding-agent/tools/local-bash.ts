// Bash operations on this machine: a shell in its own process group, with no standard input (agent-loop §10).

import { spawn } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { constants as osConstants } from "node:os";
import { delimiter, join } from "node:path";
import type { BashOperations } from "./types.ts";

export interface ShellConfig {
	shell: string;
	/** Arguments before the command text. */
	args: string[];
}

/** Time between asking a process group to end and killing it, in milliseconds. */
const GRACE = 5000;
/** How long output is still awaited after the shell has exited; a background child may hold the pipe open. Milliseconds. */
const DRAIN = 250;

function executable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

function onPath(name: string): string | undefined {
	return (process.env.PATH ?? "")
		.split(delimiter)
		.filter((directory) => directory !== "")
		.map((directory) => join(directory, name))
		.find(executable);
}

/**
 * Shell for commands: the given one, else `/bin/bash`, a `bash` on the path, or `sh`.
 * @throws when the given one does not exist
 */
export function getShellConfig(shellPath?: string): ShellConfig {
	if (shellPath) {
		if (!existsSync(shellPath)) throw new Error(`Shell not found: ${shellPath}`);
		return { shell: shellPath, args: ["-c"] };
	}
	const shell = executable("/bin/bash") ? "/bin/bash" : (onPath("bash") ?? onPath("sh") ?? "/bin/sh");
	return { shell, args: ["-c"] };
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
	try {
		process.kill(-pid, signal);
	} catch {
		try {
			process.kill(pid, signal);
		} catch {
			// Already gone.
		}
	}
}

export function createLocalBashOperations(options: { shellPath?: string } = {}): BashOperations {
	return {
		async exec(command, cwd, { onData, signal, timeout, env }) {
			if (!existsSync(cwd)) throw new Error(`Working directory does not exist: ${cwd}\nCannot execute bash commands.`);
			if (signal?.aborted) throw new Error("aborted");
			const { shell, args } = getShellConfig(options.shellPath);
			const child = spawn(shell, [...args, command], {
				cwd,
				env: env ?? process.env,
				detached: true,
				stdio: ["ignore", "pipe", "pipe"],
			});
			return new Promise((resolve, reject) => {
				let reason: string | undefined;
				const timers: ReturnType<typeof setTimeout>[] = [];
				const stop = (why: string) => {
					reason ??= why;
					const { pid } = child;
					if (pid === undefined) return;
					killGroup(pid, "SIGTERM");
					timers.push(setTimeout(() => killGroup(pid, "SIGKILL"), GRACE));
				};
				const onAbort = () => stop("aborted");
				signal?.addEventListener("abort", onAbort, { once: true });
				if (timeout !== undefined && timeout > 0)
					timers.push(setTimeout(() => stop(`timeout:${timeout}`), timeout * 1000));
				const settle = (finish: () => void) => {
					for (const timer of timers) clearTimeout(timer);
					signal?.removeEventListener("abort", onAbort);
					child.stdout.destroy();
					child.stderr.destroy();
					finish();
				};
				const finished = (code: number | null, killedBy: NodeJS.Signals | null) =>
					settle(() => {
						if (reason !== undefined) reject(new Error(reason));
						else resolve({ exitCode: killedBy === null ? code : 128 + (osConstants.signals[killedBy] ?? 0) });
					});
				child.stdout.on("data", onData);
				child.stderr.on("data", onData);
				child.once("error", (error) => settle(() => reject(error)));
				child.once("close", finished);
				child.once("exit", (code, killedBy) => {
					timers.push(setTimeout(() => finished(code, killedBy), DRAIN));
				});
			});
		},
	};
}
