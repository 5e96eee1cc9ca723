// Events by name: what handlers get, and what they may answer. Where the products differ both forms are listed, and the host takes either.

import type {
	AgentMessage,
	AssistantMessage,
	Block,
	CompactionEntry,
	ImageContent,
	Model,
	SessionEntry,
	ToolResultMessage,
	Usage,
} from "./messages.js";
import type { BashOperations, ToolResult } from "./tools.js";

export interface SessionStartEvent {
	type: "session_start";
	reason?: "startup" | "reload" | "new" | "resume" | "fork";
	previousSessionFile?: string;
}
export interface SessionShutdownEvent {
	type: "session_shutdown";
	reason?: "quit" | "reload" | "new" | "resume" | "fork";
	targetSessionFile?: string;
}
export interface SessionBeforeSwitchEvent {
	type: "session_before_switch";
	reason: "new" | "resume" | "fork";
	targetSessionFile?: string;
}
/** (xcsh) */
export interface SessionSwitchEvent {
	type: "session_switch";
	reason: "new" | "resume" | "fork";
	previousSessionFile: string | undefined;
}
/** (pi) `session_before_fork`, (xcsh) `session_before_branch`. */
export interface SessionBeforeForkEvent {
	type: "session_before_fork";
	entryId: string;
	position?: "before" | "at";
}
export interface SessionBeforeBranchEvent {
	type: "session_before_branch";
	entryId: string;
}
export interface SessionBranchEvent {
	type: "session_branch";
	previousSessionFile: string | undefined;
}
export interface SessionBeforeCompactEvent {
	type: "session_before_compact";
	preparation: {
		firstKeptEntryId: string;
		messagesToSummarize: AgentMessage[];
		turnPrefixMessages: AgentMessage[];
		isSplitTurn: boolean;
		tokensBefore: number;
		previousSummary?: string;
		fileOps: { read: Set<string>; written: Set<string>; edited: Set<string> };
		settings: { enabled: boolean; reserveTokens: number; keepRecentTokens: number };
	};
	branchEntries: SessionEntry[];
	customInstructions?: string;
	reason?: "manual" | "threshold" | "overflow";
	willRetry?: boolean;
	signal: AbortSignal;
}
export interface SessionCompactEvent {
	type: "session_compact";
	compactionEntry: CompactionEntry;
	fromExtension: boolean;
}
export interface SessionBeforeTreeEvent {
	type: "session_before_tree";
	preparation: {
		targetId: string;
		oldLeafId: string | null;
		commonAncestorId: string | null;
		entriesToSummarize: SessionEntry[];
		userWantsSummary: boolean;
	};
	signal: AbortSignal;
}
export interface SessionTreeEvent {
	type: "session_tree";
	newLeafId: string | null;
	oldLeafId: string | null;
}
export interface InputEvent {
	type: "input";
	text: string;
	images?: ImageContent[];
	source: "interactive" | "rpc" | "extension";
}
export interface BeforeAgentStartEvent {
	type: "before_agent_start";
	prompt: string;
	images?: ImageContent[];
	systemPrompt: string;
}
export interface ContextEvent {
	type: "context";
	/** May be changed in place. */
	messages: AgentMessage[];
}
export interface BeforeProviderRequestEvent {
	type: "before_provider_request";
	payload: any;
}
export interface BeforeProviderHeadersEvent {
	type: "before_provider_headers";
	/** Changes in place count; `null` removes a header. */
	headers: Record<string, string | null>;
}
export interface AfterProviderResponseEvent {
	type: "after_provider_response";
	status: number;
	headers: Record<string, string>;
}
export interface ProviderStreamEvent {
	type: "provider_stream_event";
	provider: string;
	api: string;
	model: string;
	/** One event of the wire protocol. */
	data: any;
}
/** One model request, from the moment it was given to its provider. Never holds prompts, answers or keys. */
export interface LlmTraceRecord {
	type: "model_request";
	sessionId: string;
	requestRole: {
		kind: "primary" | "helper";
		helper?: "compaction" | "branch_summary" | "extension";
		/** Path of the extension that asked. */
		extension?: string;
	};
	provider: string;
	api: string;
	model: string;
	thinkingLevel: string;
	/** Milliseconds since the epoch. */
	startedAt: number;
	/** Milliseconds until the first event; absent when none came. */
	firstEventMs?: number;
	durationMs: number;
	outcome: "ok" | "error" | "aborted";
	stopReason: string;
	errorMessage?: string;
	usage: Usage;
}
export interface LlmTraceEvent {
	type: "llm_trace";
	record: LlmTraceRecord;
}
export interface AgentStartEvent {
	type: "agent_start";
}
export interface AgentEndEvent {
	type: "agent_end";
	/** The messages of this run. */
	messages: AgentMessage[];
}
export interface AgentSettledEvent {
	type: "agent_settled";
	aborted: boolean;
}
export interface TurnStartEvent {
	type: "turn_start";
	turnIndex: number;
	timestamp: number;
}
export interface TurnEndEvent {
	type: "turn_end";
	turnIndex: number;
	message: AssistantMessage;
	toolResults: ToolResultMessage[];
}
export interface MessageStartEvent {
	type: "message_start";
	message: AgentMessage;
}
export interface MessageUpdateEvent {
	type: "message_update";
	message: AssistantMessage;
	assistantMessageEvent: { type: string; [member: string]: unknown };
}
export interface MessageEndEvent {
	type: "message_end";
	message: AgentMessage;
}
export interface ToolCallEvent {
	type: "tool_call";
	toolCallId: string;
	toolName: string;
	/** Changes in place reach the tool. */
	input: Record<string, any>;
	parentToolCallId?: string;
}
export interface ToolResultEvent {
	type: "tool_result";
	toolCallId: string;
	toolName: string;
	input: Record<string, any>;
	content: Block[];
	details: any;
	isError: boolean;
	usage?: Usage;
}
export interface ToolExecutionStartEvent {
	type: "tool_execution_start";
	toolCallId: string;
	toolName: string;
	args: any;
}
export interface ToolExecutionUpdateEvent {
	type: "tool_execution_update";
	toolCallId: string;
	toolName: string;
	args: any;
	partialResult: ToolResult;
}
export interface ToolExecutionEndEvent {
	type: "tool_execution_end";
	toolCallId: string;
	toolName: string;
	result: ToolResult;
	isError: boolean;
	/** (xcsh) The tool worked and warns; absent otherwise. */
	isWarning?: boolean;
}
export interface ModelSelectEvent {
	type: "model_select";
	model: Model;
	previousModel: Model | undefined;
	source: "set" | "cycle" | "restore";
}
export interface UserBashEvent {
	type: "user_bash";
	command: string;
	excludeFromContext: boolean;
	cwd: string;
}
export interface ResourcesDiscoverEvent {
	type: "resources_discover";
	cwd: string;
	reason: "startup" | "reload";
}

export interface BashResult {
	output: string;
	exitCode: number | undefined;
	cancelled: boolean;
	truncated: boolean;
	fullOutputPath?: string;
}

interface Cancellable {
	cancel?: boolean;
}

/** Event name -> event and answer. */
export interface ExtensionEventMap {
	session_start: { event: SessionStartEvent; result: void };
	session_shutdown: { event: SessionShutdownEvent; result: void };
	session_before_switch: { event: SessionBeforeSwitchEvent; result: Cancellable };
	session_switch: { event: SessionSwitchEvent; result: void };
	session_before_fork: { event: SessionBeforeForkEvent; result: Cancellable };
	session_before_branch: { event: SessionBeforeBranchEvent; result: Cancellable };
	session_branch: { event: SessionBranchEvent; result: void };
	session_before_compact: {
		event: SessionBeforeCompactEvent;
		result: Cancellable & {
			compaction?: { summary: string; firstKeptEntryId?: string; tokensBefore: number; details?: unknown };
		};
	};
	session_compact: { event: SessionCompactEvent; result: void };
	session_before_tree: {
		event: SessionBeforeTreeEvent;
		result: Cancellable & { summary?: { summary: string; details?: unknown }; label?: string };
	};
	session_tree: { event: SessionTreeEvent; result: void };
	input: {
		event: InputEvent;
		result: {
			action?: "continue" | "transform" | "handled";
			handled?: boolean;
			text?: string;
			images?: ImageContent[];
		};
	};
	before_agent_start: {
		event: BeforeAgentStartEvent;
		result: {
			message?: { customType: string; content: string | Block[]; display: boolean; details?: unknown };
			systemPrompt?: string | string[];
		};
	};
	context: { event: ContextEvent; result: { messages?: AgentMessage[] } };
	before_provider_request: { event: BeforeProviderRequestEvent; result: unknown };
	agent_start: { event: AgentStartEvent; result: void };
	agent_end: { event: AgentEndEvent; result: void };
	agent_settled: { event: AgentSettledEvent; result: void };
	turn_start: { event: TurnStartEvent; result: void };
	turn_end: { event: TurnEndEvent; result: { entries?: unknown[]; continue?: boolean } };
	message_start: { event: MessageStartEvent; result: void };
	message_update: { event: MessageUpdateEvent; result: void };
	message_end: { event: MessageEndEvent; result: { message?: AgentMessage } };
	tool_call: { event: ToolCallEvent; result: { block?: boolean; reason?: string; terminate?: boolean } };
	tool_result: { event: ToolResultEvent; result: { content?: Block[]; details?: unknown; isError?: boolean } };
	tool_execution_start: { event: ToolExecutionStartEvent; result: void };
	tool_execution_update: { event: ToolExecutionUpdateEvent; result: void };
	tool_execution_end: { event: ToolExecutionEndEvent; result: void };
	model_select: { event: ModelSelectEvent; result: void };
	user_bash: { event: UserBashEvent; result: { operations?: BashOperations; result?: BashResult } };
	resources_discover: {
		event: ResourcesDiscoverEvent;
		result: { skillPaths?: string[]; promptPaths?: string[]; themePaths?: string[] };
	};
}

export type ExtensionEventName = keyof ExtensionEventMap;
