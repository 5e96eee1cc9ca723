// `runSubprocess` of xcsh and oh-my-pi: gives a task to an agent that a definition describes, in a session of its own, and answers what
// became of it (sdk-exports §2.2). It never rejects for what happens in that session.

import { isRecord } from "../../../api/json.ts";
import { currentModelRegistry } from "../../../api/model-registry.ts";
import { getSessionCwd } from "../../host-info.ts";
import { SessionManager } from "../session-manager.ts";
import { createAgentSession } from "./create.ts";
import type { AgentSessionEvent } from "./events.ts";
import { DefaultResourceLoader } from "./resource-loader.ts";
import type { AgentSession } from "./session.ts";

export interface AgentDefinition {
	name: string;
	description?: string;
	/** Added to the system prompt of its session. */
	systemPrompt: string;
	/** Default: those of a new session. */
	tools?: string[];
	/** `provider/id`, or several of which the first that is known is used. */
	model?: string | string[];
	thinkingLevel?: string;
	source?: string;
	[other: string]: unknown;
}

export interface ExecutorOptions {
	cwd?: string;
	agent: AgentDefinition;
	task: string;
	/** Comes before the task. */
	context?: string;
	/** Position among tasks that belong together. */
	index?: number;
	id?: string;
	description?: string;
	assignment?: string;
	/** Wins over the definition's model. */
	modelOverride?: string | string[];
	thinkingLevel?: string;
	/** JSON schema that the answer should follow. */
	outputSchema?: unknown;
	/** Ends the run after so many milliseconds. */
	maxRuntimeMs?: number;
	signal?: AbortSignal;
	onProgress?: (progress: AgentProgress) => void;
	[other: string]: unknown;
}

interface Known {
	index: number;
	id: string;
	agent: string;
	agentSource: string;
	task: string;
	assignment?: string;
	description?: string;
	modelOverride?: string | string[];
}

export interface AgentProgress extends Known {
	status: "pending" | "running" | "completed" | "failed" | "aborted";
	currentTool?: string;
	currentToolArgs?: string;
	currentToolStartMs?: number;
	/** Newest first. */
	recentTools: { tool: string; args: string; endMs: number }[];
	/** Last lines of the last answer. */
	recentOutput: string[];
	toolCount: number;
	/** Requests to the model. */
	requests: number;
	tokens: number;
	cost: number;
	durationMs: number;
}

export interface SingleResult extends Known {
	/** 0, or 1 when the run failed or was aborted. */
	exitCode: number;
	/** The last answer. */
	output: string;
	/** What went wrong. */
	stderr: string;
	truncated: boolean;
	durationMs: number;
	tokens: number;
	requests: number;
	/** `provider/id` of the model that was used. */
	resolvedModel?: string;
	/** None of the wanted models is known. */
	resolvedModelIsFallback?: boolean;
	error?: string;
	aborted?: boolean;
	abortReason?: string;
	usage?: Record<string, unknown>;
}

const RECENT_TOOLS = 5;
const RECENT_LINES = 8;
const ARGS_SHOWN = 200;

/** Names that are wanted, best first. */
function list(value: string | string[] | undefined): string[] {
	return value === undefined ? [] : [value].flat().flatMap((names) => names.split(",")).map((name) => name.trim());
}

/** The first known model among `provider/id` names; `undefined` leaves the choice to the session. */
function knownModel(names: string[]): unknown {
	for (const name of names) {
		const slash = name.indexOf("/");
		const model = slash > 0 ? currentModelRegistry().find(name.slice(0, slash), name.slice(slash + 1)) : undefined;
		if (model !== undefined) return model;
	}
	return undefined;
}

function promptOf({ context, task, outputSchema }: ExecutorOptions): string {
	const parts = [context, task].filter((part) => part !== undefined && part !== "");
	if (outputSchema !== undefined) {
		parts.push(`Answer with nothing but JSON that follows this schema:\n${JSON.stringify(outputSchema)}`);
	}
	return parts.join("\n\n");
}

/** Follows the events of a run. */
class Tracker {
	readonly progress: AgentProgress;
	readonly #began = Date.now();
	readonly #tell: ((progress: AgentProgress) => void) | undefined;

	constructor(known: Known, tell: ((progress: AgentProgress) => void) | undefined) {
		this.#tell = tell;
		this.progress = {
			...known,
			status: "pending",
			recentTools: [],
			recentOutput: [],
			toolCount: 0,
			requests: 0,
			tokens: 0,
			cost: 0,
			durationMs: 0,
		};
	}

	set(change: Partial<AgentProgress>): void {
		Object.assign(this.progress, change, { durationMs: Date.now() - this.#began });
		try {
			this.#tell?.({ ...this.progress, recentTools: [...this.progress.recentTools] });
		} catch (error) {
			// The listener's fault must not end the run. It is reported as any rejection that nobody handles.
			void Promise.reject(error);
		}
	}

	read(event: AgentSessionEvent): void {
		const { progress } = this;
		if (event.type === "tool_execution_start") {
			this.set({
				currentTool: String(event.toolName),
				currentToolArgs: (JSON.stringify(event.args) ?? "").slice(0, ARGS_SHOWN),
				currentToolStartMs: Date.now(),
				toolCount: progress.toolCount + 1,
			});
		} else if (event.type === "tool_execution_end") {
			const done = { tool: String(event.toolName), args: progress.currentToolArgs ?? "", endMs: Date.now() };
			this.set({
				currentTool: undefined,
				currentToolArgs: undefined,
				currentToolStartMs: undefined,
				recentTools: [done, ...progress.recentTools].slice(0, RECENT_TOOLS),
			});
		} else if (event.type === "message_end" && isRecord(event.message) && event.message.role === "assistant") {
			const { content, usage } = event.message as { content?: unknown; usage?: { totalTokens?: number; cost?: { total?: number } } };
			const text = (Array.isArray(content) ? content : []).map((block) => (block.type === "text" ? block.text : "")).join("");
			this.set({
				requests: progress.requests + 1,
				tokens: progress.tokens + (usage?.totalTokens ?? 0),
				cost: progress.cost + (usage?.cost?.total ?? 0),
				recentOutput: text === "" ? progress.recentOutput : text.split("\n").slice(-RECENT_LINES),
			});
		}
	}
}

/** Why the run's last answer is no success; `undefined` when it is one. */
function failureOf(session: AgentSession): string | undefined {
	const last = session.messages.findLast((message) => message.role === "assistant");
	if (last === undefined) return "The agent gave no answer";
	if (last.stopReason !== "error" && last.stopReason !== "aborted") return undefined;
	return typeof last.errorMessage === "string" ? last.errorMessage : `The answer ended with ${last.stopReason}`;
}

/** Runs the task to its end. */
export async function runSubprocess(options: ExecutorOptions): Promise<SingleResult> {
	const { agent, task } = options ?? {};
	if (!isRecord(agent) || typeof agent.name !== "string" || typeof task !== "string") {
		throw new TypeError("runSubprocess: options.agent (with a name) and options.task (a text) are needed");
	}
	const index = options.index ?? 0;
	const known: Known = {
		index,
		id: options.id ?? `${agent.name}-${index}`,
		agent: agent.name,
		agentSource: String(agent.source ?? "bundled"),
		task,
		...(options.assignment === undefined ? {} : { assignment: options.assignment }),
		...(options.description === undefined ? {} : { description: options.description }),
		...(options.modelOverride === undefined ? {} : { modelOverride: options.modelOverride }),
	};
	const tracker = new Tracker(known, options.onProgress);
	let abortReason: string | undefined;
	let error: string | undefined;
	let output = "";
	const measured: Pick<SingleResult, "usage" | "resolvedModel" | "resolvedModelIsFallback"> = {};
	let session: AgentSession | undefined;
	let timer: ReturnType<typeof setTimeout> | undefined;
	const abort = (reason: string): void => {
		abortReason ??= reason;
		session?.agent.abort();
	};
	const onAbort = (): void => abort("The caller aborted it");
	options.signal?.addEventListener("abort", onAbort, { once: true });
	try {
		if (options.signal?.aborted) onAbort();
		const cwd = options.cwd ?? getSessionCwd();
		const level = options.thinkingLevel ?? agent.thinkingLevel;
		const wanted = [...list(options.modelOverride), ...list(agent.model)];
		const model = knownModel(wanted);
		if (wanted.length > 0 && model === undefined) measured.resolvedModelIsFallback = true;
		const created = await createAgentSession({
			cwd,
			...(model === undefined ? {} : { model }),
			...(level === undefined || level === "inherit" ? {} : { thinkingLevel: level }),
			...(agent.tools === undefined ? {} : { tools: agent.tools }),
			sessionManager: SessionManager.inMemory(cwd),
			resourceLoader: new DefaultResourceLoader({ cwd, appendSystemPrompt: String(agent.systemPrompt ?? "") }),
		});
		session = created.session;
		if (session.model !== undefined) measured.resolvedModel = `${session.model.provider}/${session.model.id}`;
		session.subscribe((event) => tracker.read(event));
		tracker.set({ status: "running" });
		const limit = options.maxRuntimeMs ?? 0;
		if (limit > 0) timer = setTimeout(() => abort(`It ran longer than ${limit} ms`), limit);
		if (abortReason === undefined) await session.prompt(promptOf(options), { expandPromptTemplates: false });
		error = failureOf(session);
		output = session.getLastAssistantText() ?? "";
		const { tokens, cost } = session.getSessionStats();
		measured.usage = { ...tokens, cost };
	} catch (thrown) {
		error = thrown instanceof Error ? thrown.message : String(thrown);
	} finally {
		clearTimeout(timer);
		options.signal?.removeEventListener("abort", onAbort);
		await session?.dispose().catch(() => undefined);
	}
	const aborted = abortReason !== undefined;
	const failed = aborted || error !== undefined;
	tracker.set({ status: aborted ? "aborted" : failed ? "failed" : "completed" });
	const { tokens, requests, durationMs } = tracker.progress;
	return {
		...known,
		exitCode: failed ? 1 : 0,
		output,
		stderr: abortReason ?? error ?? "",
		truncated: false,
		durationMs,
		tokens,
		requests,
		...(error === undefined || aborted ? {} : { error }),
		...(aborted ? { aborted, abortReason } : {}),
		...measured,
	};
}
