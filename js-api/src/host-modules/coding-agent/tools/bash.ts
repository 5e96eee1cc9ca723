// Logic of the `bash` tool over replaceable operations (agent-loop §10).

import { DEFAULT_MAX_BYTES, formatSize } from "../truncate.ts";
import { OutputTail } from "./output-tail.ts";
import { type BashOperations, type BashToolDetails, textResult, type ToolResult, type ToolRun } from "./types.ts";

export interface BashParams {
	command: string;
	/** Seconds. */
	timeout?: number;
}

export interface BashSpawnContext {
	command: string;
	cwd: string;
	env: NodeJS.ProcessEnv;
}

export type BashSpawnHook = (context: BashSpawnContext) => BashSpawnContext;

export interface BashToolOptions {
	operations?: BashOperations;
	/** Put on a line of its own before each command. */
	commandPrefix?: string;
	shellPath?: string;
	/** May change command, directory and environment just before the start. */
	spawnHook?: BashSpawnHook;
	/** Give the command `PI_*` variables about the session (default true). */
	exposeSessionEnvironment?: boolean;
}

/** Shortest time between two updates, in milliseconds. */
const UPDATE_INTERVAL = 100;

interface SessionContext {
	model?: { provider?: string; id?: string };
	thinkingLevel?: string;
	sessionManager?: { getSessionId?(): string; getSessionFile?(): string | undefined };
}

function sessionEnvironment(context: unknown): NodeJS.ProcessEnv {
	if (typeof context !== "object" || context === null) return {};
	const { model, thinkingLevel, sessionManager } = context as SessionContext;
	const values: Record<string, string | undefined> = {
		PI_SESSION_ID: sessionManager?.getSessionId?.(),
		PI_SESSION_FILE: sessionManager?.getSessionFile?.(),
		PI_PROVIDER: model?.provider,
		PI_MODEL: model?.id,
		PI_REASONING_LEVEL: thinkingLevel,
	};
	return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function describe(output: OutputTail): { text: string; details: BashToolDetails | undefined } {
	const truncation = output.truncation();
	const path = output.fullOutputPath;
	if (!truncation.truncated) return { text: truncation.content, details: undefined };
	const last = truncation.totalLines;
	const first = last - truncation.outputLines + 1;
	const where = path === undefined ? "" : ` Full output: ${path}`;
	const limit = formatSize(DEFAULT_MAX_BYTES);
	let notice: string;
	if (truncation.lastLinePartial) {
		const shown = formatSize(truncation.outputBytes);
		notice = `[Showing last ${shown} of line ${last} (line is ${formatSize(output.lastLineBytes)}).${where}]`;
	} else if (truncation.truncatedBy === "lines") notice = `[Showing lines ${first}-${last} of ${last}.${where}]`;
	else notice = `[Showing lines ${first}-${last} of ${last} (${limit} limit).${where}]`;
	return {
		text: `${truncation.content}\n\n${notice}`,
		details: { truncation, ...(path === undefined ? {} : { fullOutputPath: path }) },
	};
}

/** Sends at most one update in an interval, the last state always included. */
class Updates {
	private timer: ReturnType<typeof setTimeout> | undefined;
	private lastSent = Number.NEGATIVE_INFINITY;
	private readonly send: () => void;

	constructor(send: () => void) {
		this.send = send;
	}

	request(): void {
		if (this.timer !== undefined) return;
		const wait = this.lastSent + UPDATE_INTERVAL - Date.now();
		if (wait <= 0) this.flush();
		else this.timer = setTimeout(() => this.flush(), wait);
	}

	private flush(): void {
		this.stop();
		this.lastSent = Date.now();
		this.send();
	}

	stop(): void {
		clearTimeout(this.timer);
		this.timer = undefined;
	}
}

/** The text of the error that `operations.exec` gave up with, for the model. */
function failure(error: unknown): string | undefined {
	const message = error instanceof Error ? error.message : String(error);
	if (message === "aborted") return "Command aborted";
	const timeout = /^timeout:(.+)$/.exec(message);
	return timeout === null ? undefined : `Command timed out after ${timeout[1]} seconds`;
}

export async function runBash(
	cwd: string,
	operations: BashOperations,
	options: BashToolOptions,
	{ params, signal, onUpdate, context }: ToolRun<BashParams, BashToolDetails>,
): Promise<ToolResult<BashToolDetails>> {
	const command = options.commandPrefix ? `${options.commandPrefix}\n${params.command}` : params.command;
	const session = options.exposeSessionEnvironment === false ? {} : sessionEnvironment(context);
	const env: NodeJS.ProcessEnv = { ...process.env, ...session };
	const start = options.spawnHook?.({ command, cwd, env }) ?? { command, cwd, env };

	const output = new OutputTail();
	const updates = new Updates(() => {
		const truncation = output.truncation();
		const path = output.fullOutputPath;
		onUpdate?.(
			textResult<BashToolDetails>(truncation.content, {
				...(truncation.truncated ? { truncation } : {}),
				...(path === undefined ? {} : { fullOutputPath: path }),
			}),
		);
	});
	onUpdate?.({ content: [] });
	const started = Date.now();
	let exitCode: number | null;
	try {
		const ended = await operations.exec(start.command, start.cwd, {
			onData: (data) => {
				output.push(data);
				if (onUpdate !== undefined) updates.request();
			},
			...(signal === undefined ? {} : { signal }),
			...(params.timeout === undefined ? {} : { timeout: params.timeout }),
			env: start.env,
		});
		exitCode = ended.exitCode;
	} catch (error) {
		output.finish();
		const reason = failure(error);
		if (reason === undefined) throw error;
		throw new Error(withStatus(describe(output).text, reason), { cause: error });
	} finally {
		updates.stop();
	}
	output.finish();
	const { text, details } = describe(output);
	if (exitCode === null) throw new Error(withStatus(text, "Command terminated without an exit code"));
	const path = output.fullOutputPath;
	const forPrograms = output.forPrograms();
	const result: ToolResult<BashToolDetails> = {
		...textResult(text === "" ? "(no output)" : text, details),
		structuredContent: {
			...forPrograms,
			...(path !== undefined && forPrograms.truncated ? { full_output_path: path } : {}),
			exit_code: exitCode,
			wall_time_seconds: (Date.now() - started) / 1000,
		},
	};
	if (exitCode === 0) return result;
	return {
		...result,
		content: [
			{ type: "text", text: withStatus(text === "" ? "(no output)" : text, `Command exited with code ${exitCode}`) },
		],
		isError: true,
	};
}

function withStatus(text: string, status: string): string {
	return text === "" ? status : `${text}\n\n${status}`;
}
