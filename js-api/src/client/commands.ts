// Every command: its fields and the data of its response (docs/rpc.md, "Commands"). Types only.

import type { BashResult } from "../../types/events.js";
import type { AgentMessage, ImageContent, Model, SessionEntry, ThinkingLevel } from "../../types/messages.js";
import type { CompactionResult } from "./events.js";
import type { HostToolDeclaration } from "./host-tools.js";

export interface Input {
	message: string;
	images?: readonly ImageContent[];
}

/** What became of a message: it began a run, it waits in a queue, or an extension dealt with it. */
export type Disposition = "started" | "queued" | "handled";

export type DeliveryMode = "all" | "one-at-a-time";
export type InterruptMode = "immediate" | "wait";

export interface SessionState {
	/** A stand-in with the provider `unknown` when there is no model. */
	model: Model;
	thinkingLevel: ThinkingLevel;
	/** A run is active. */
	isStreaming: boolean;
	isCompacting: boolean;
	/** Extensions are still being loaded; the model may not be known yet. */
	isStarting?: boolean;
	steeringMode: DeliveryMode;
	followUpMode: DeliveryMode;
	interruptMode: InterruptMode;
	/** Absent for a session in memory. */
	sessionFile?: string;
	sessionId: string;
	sessionName?: string;
	autoCompactionEnabled: boolean;
	messageCount: number;
	/** Messages in both queues. */
	pendingMessageCount: number;
	queuedMessageCount: number;
}

export interface SessionStats {
	sessionFile?: string;
	sessionId: string;
	userMessages: number;
	assistantMessages: number;
	toolCalls: number;
	toolResults: number;
	totalMessages: number;
	tokens: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
	/** US dollars. */
	cost: number;
	/** Nulls directly after a compaction; absent when the model's window is not known. */
	contextUsage?: { tokens: number | null; contextWindow: number; percent: number | null };
}

export interface SlashCommand {
	/** Without the slash. */
	name: string;
	description?: string;
	source: "extension" | "prompt" | "skill";
	sourceInfo: { path: string; source: string; scope: string; origin: string; baseDir?: string };
}

export interface TreeNode {
	entry: SessionEntry;
	children: TreeNode[];
	label?: string;
	/** ISO 8601. */
	labelTimestamp?: string;
}

export interface TodoPhase {
	id: string;
	name: string;
	tasks: { id: string; content: string; status: "pending" | "in_progress" | "completed" | "abandoned" }[];
}

export interface Integrations {
	/** Pier's own. */
	version: string;
	model: { state: "no_provider" | "connected" | "auth_error"; provider?: string };
	services: { name: string; state: "connected" | "unauthenticated" | "unavailable"; hint?: string }[];
}

interface Command<Fields, Data> {
	fields: Fields;
	data: Data;
}
type None = Record<string, never>;
type Accepted = { disposition: Disposition };
type Replaced = { cancelled: boolean };
type ForkMessages = { messages: { entryId: string; text: string }[] };
type Forked = { text?: string; cancelled: boolean };

/** Command by its name. */
export interface Commands {
	prompt: Command<Input & { streamingBehavior?: "steer" | "followUp"; locale?: string }, Accepted>;
	steer: Command<Input, Accepted>;
	follow_up: Command<Input, Accepted>;
	abort: Command<None, undefined>;
	clear_queue: Command<None, { steering: string[]; followUp: string[] }>;
	abort_and_prompt: Command<Input, undefined>;
	get_state: Command<None, SessionState>;
	get_messages: Command<None, { messages: AgentMessage[] }>;
	get_last_assistant_text: Command<None, { text?: string }>;
	get_session_stats: Command<None, SessionStats>;
	get_commands: Command<None, { commands: SlashCommand[] }>;
	set_model: Command<{ provider: string; modelId: string }, Model>;
	cycle_model: Command<None, { model: Model; thinkingLevel: ThinkingLevel; isScoped: boolean } | null>;
	get_available_models: Command<None, { models: Model[] }>;
	set_thinking_level: Command<{ level: ThinkingLevel }, undefined>;
	cycle_thinking_level: Command<None, { level: ThinkingLevel } | null>;
	get_available_thinking_levels: Command<None, { levels: ThinkingLevel[] }>;
	set_steering_mode: Command<{ mode: DeliveryMode }, undefined>;
	set_follow_up_mode: Command<{ mode: DeliveryMode }, undefined>;
	set_interrupt_mode: Command<{ mode: InterruptMode }, undefined>;
	compact: Command<{ customInstructions?: string }, CompactionResult>;
	set_auto_compaction: Command<{ enabled: boolean }, undefined>;
	set_auto_retry: Command<{ enabled: boolean }, undefined>;
	abort_retry: Command<None, undefined>;
	bash: Command<{ command: string; excludeFromContext?: boolean }, BashOutcome>;
	abort_bash: Command<None, undefined>;
	new_session: Command<{ parentSession?: string }, Replaced>;
	switch_session: Command<{ sessionPath: string }, Replaced>;
	fork: Command<{ entryId: string }, Forked>;
	branch: Command<{ entryId: string }, Forked>;
	clone: Command<None, Replaced>;
	get_fork_messages: Command<None, ForkMessages>;
	get_branch_messages: Command<None, ForkMessages>;
	get_entries: Command<{ since?: string }, { entries: SessionEntry[]; leafId: string | null }>;
	get_tree: Command<None, { tree: TreeNode[]; leafId: string | null }>;
	set_session_name: Command<{ name: string }, undefined>;
	export_html: Command<{ outputPath?: string }, { path: string }>;
	set_todos: Command<{ phases: readonly TodoPhase[] }, { todoPhases: TodoPhase[] }>;
	set_host_tools: Command<{ tools: readonly HostToolDeclaration[] }, { toolNames: string[] }>;
	set_locale: Command<{ locale: string }, undefined>;
	get_integrations: Command<None, Integrations>;
}

/** How a shell command ended. `exitCode` is absent when it was cancelled. */
export type BashOutcome = Omit<BashResult, "exitCode"> & { exitCode?: number };

export type CommandName = keyof Commands;
export type Fields<Name extends CommandName> = Commands[Name]["fields"];
export type Data<Name extends CommandName> = Commands[Name]["data"];

/**
 * Commands that take as long as their work, or as a person whom an extension asks. They have no time limit unless the caller sets one; all others
 * are answered at once when Pier is well.
 */
export const TAKE_THEIR_TIME: ReadonlySet<CommandName> = new Set<CommandName>([
	"prompt",
	"steer",
	"follow_up",
	"bash",
	"compact",
	"new_session",
	"switch_session",
	"fork",
	"branch",
	"clone",
]);
