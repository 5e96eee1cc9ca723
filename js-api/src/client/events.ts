// Every record that Pier sends without being asked, in the union dialect (docs/rpc.md, "Events"). Each has a `type` of its own.

import type {
	AgentEndEvent as BareAgentEndEvent,
	AgentSettledEvent,
	AgentStartEvent,
	MessageEndEvent,
	MessageStartEvent,
	ToolExecutionEndEvent as BareToolExecutionEndEvent,
	ToolExecutionStartEvent as BareToolExecutionStartEvent,
	ToolExecutionUpdateEvent as BareToolExecutionUpdateEvent,
} from "../../types/events.js";
import type {
	AssistantMessage,
	SessionEntry,
	ThinkingLevel,
	ToolCall,
	ToolResultMessage,
	Usage,
} from "../../types/messages.js";
import type { HostToolCall, HostToolCancel } from "./host-tools.js";
import type { UiRequest } from "./ui.js";

export type { AgentSettledEvent, AgentStartEvent, MessageEndEvent, MessageStartEvent };

/** The first record. */
export interface ReadyEvent {
	type: "ready";
	version: string;
}
/** The session could not be made; the exit code will be 1. */
export interface StartupErrorEvent {
	type: "startup_error";
	phase: "session" | "model" | "script" | "flags";
	error: string;
}
export interface AgentEndEvent extends BareAgentEndEvent {
	/** An automatic retry follows. */
	willRetry: boolean;
}
export interface TurnStartEvent {
	type: "turn_start";
}
export interface TurnEndEvent {
	type: "turn_end";
	message: AssistantMessage;
	toolResults: ToolResultMessage[];
}

/** What happened to the answer that is being written. `contentIndex` counts the blocks of its content. */
export type AssistantMessageEvent =
	| { type: "text_start" | "thinking_start"; contentIndex: number }
	| { type: "text_delta" | "thinking_delta" | "toolcall_delta"; contentIndex: number; delta: string }
	| { type: "text_end" | "thinking_end"; contentIndex: number; content: string }
	| { type: "toolcall_start"; contentIndex: number; id: string; toolName: string }
	| { type: "toolcall_end"; contentIndex: number; toolCall: ToolCall };
/** The next piece of an answer, never the answer so far. */
export interface MessageUpdateEvent {
	type: "message_update";
	usage: Usage;
	assistantMessageEvent: AssistantMessageEvent;
}

/** Call of which this one is a part: a tool ran another. */
interface Nested {
	parentToolCallId?: string;
}
export interface ToolExecutionStartEvent extends BareToolExecutionStartEvent, Nested {}
export interface ToolExecutionUpdateEvent extends BareToolExecutionUpdateEvent, Nested {}
export interface ToolExecutionEndEvent extends BareToolExecutionEndEvent, Nested {
	/** Absent when the tool never ran. */
	durationMs?: number;
	/** The tool worked and warns; absent otherwise. */
	isWarning?: boolean;
}

/** The complete queues. */
export interface QueueUpdateEvent {
	type: "queue_update";
	steering: string[];
	followUp: string[];
}
/** Entries other than messages. */
export interface EntryAppendedEvent {
	type: "entry_appended";
	entry: SessionEntry;
}
export interface SessionInfoChangedEvent {
	type: "session_info_changed";
	name?: string;
}
export interface ThinkingLevelChangedEvent {
	type: "thinking_level_changed";
	level: ThinkingLevel;
}

export type CompactionReason = "manual" | "threshold" | "overflow";
export interface CompactionResult {
	summary: string;
	/** Absent when an extension's summary keeps nothing. */
	firstKeptEntryId?: string;
	tokensBefore: number;
	estimatedTokensAfter?: number;
	usage?: Usage;
	details?: unknown;
}
export interface CompactionStartEvent {
	type: "compaction_start";
	reason: CompactionReason;
}
export interface CompactionEndEvent {
	type: "compaction_end";
	reason: CompactionReason;
	result?: CompactionResult;
	aborted: boolean;
	willRetry: boolean;
	errorMessage?: string;
}

interface Attempt {
	attempt: number;
	maxAttempts: number;
	delayMs: number;
	errorMessage: string;
}
export interface AutoRetryStartEvent extends Attempt {
	type: "auto_retry_start";
}
export interface AutoRetryEndEvent {
	type: "auto_retry_end";
	success: boolean;
	attempt: number;
	finalError?: string;
}
export interface SummarizationRetryScheduledEvent extends Attempt {
	type: "summarization_retry_scheduled";
}
export interface SummarizationRetryAttemptStartEvent {
	type: "summarization_retry_attempt_start";
	source: "compaction" | "branchSummary";
	reason?: CompactionReason;
}
export interface SummarizationRetryFinishedEvent {
	type: "summarization_retry_finished";
}

export interface BashExecutionUpdateEvent {
	type: "bash_execution_update";
	/** Id of the command that runs. */
	id?: unknown;
	delta: string;
}
/** Code of an extension failed. */
export interface ExtensionErrorEvent {
	type: "extension_error";
	/** A file, `command:<name>`, `<runtime>` or `<boundary>`. */
	extensionPath: string;
	/** Name of a hook, `command`, `load`, `runaway`, `heap_limit`, `process_exit` … */
	event: string;
	error: string;
	stack?: string;
	/** Place in the TypeScript source, counted from 1. */
	location?: { file: string; line: number; column: number };
	/** Only while the program starts. */
	phase?: "load" | "bind" | "flags";
	/** Id of the command that caused it, or of the prompt whose run did. */
	requestId?: unknown;
}

export type PierEvent =
	| ReadyEvent
	| StartupErrorEvent
	| AgentStartEvent
	| AgentEndEvent
	| AgentSettledEvent
	| TurnStartEvent
	| TurnEndEvent
	| MessageStartEvent
	| MessageUpdateEvent
	| MessageEndEvent
	| ToolExecutionStartEvent
	| ToolExecutionUpdateEvent
	| ToolExecutionEndEvent
	| QueueUpdateEvent
	| EntryAppendedEvent
	| SessionInfoChangedEvent
	| ThinkingLevelChangedEvent
	| CompactionStartEvent
	| CompactionEndEvent
	| AutoRetryStartEvent
	| AutoRetryEndEvent
	| SummarizationRetryScheduledEvent
	| SummarizationRetryAttemptStartEvent
	| SummarizationRetryFinishedEvent
	| BashExecutionUpdateEvent
	| ExtensionErrorEvent
	| UiRequest
	| HostToolCall
	| HostToolCancel;

/** Event by its name. */
export type PierEvents = { [E in PierEvent as E["type"]]: E };
