// Which shell runs commands on this machine (agent-loop §10).

import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";

export interface ShellConfig {
	shell: string;
	/** Arguments before the command text. */
	args: string[];
}

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
