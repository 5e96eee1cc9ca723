// Bash operations on this machine: the host runs the command as its own `bash` tool does (agent-loop §10).

import { Buffer } from "node:buffer";
import { currentRuntime } from "../../../api/runtime.ts";
import { hostCallAsync } from "../../../host.ts";
import { cancellable } from "./host-run.ts";
import type { BashOperations } from "./types.ts";

declare module "../../../api/protocol-methods.ts" {
	interface AsyncMethods {
		localBash: {
			args: {
				builtinId: number;
				callId?: number;
				command: string;
				cwd: string;
				env: Record<string, string>;
				timeout?: number;
				shellPath?: string;
				onData: number;
			};
			result: { exitCode: number | null };
		};
	}
}

function variables(env: NodeJS.ProcessEnv): Record<string, string> {
	const set = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
	return Object.fromEntries(set);
}

export function createLocalBashOperations(options: { shellPath?: string } = {}): BashOperations {
	const { shellPath } = options;
	return {
		async exec(command, cwd, { onData, signal, timeout, env }) {
			if (signal?.aborted) throw new Error("aborted");
			const { callbacks, calls } = currentRuntime();
			const callId = calls.current;
			const handle = callbacks.add(([data]) => onData(Buffer.from(String(data), "base64")));
			try {
				return await cancellable(signal, (builtinId) =>
					hostCallAsync("localBash", {
						builtinId,
						...(callId === undefined ? {} : { callId }),
						command,
						cwd,
						env: variables(env ?? process.env),
						...(timeout === undefined ? {} : { timeout }),
						...(shellPath ? { shellPath } : {}),
						onData: handle,
					}),
				);
			} finally {
				callbacks.release([handle]);
			}
		},
	};
}
