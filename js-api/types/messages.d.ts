// Messages, models and session entries, as extensions meet them. Members of single products are marked (pi), (xcsh).

/** Text of a message. */
export interface TextContent {
	type: "text";
	text: string;
	textSignature?: string;
}

export interface ThinkingContent {
	type: "thinking";
	thinking: string;
	thinkingSignature?: string;
	redacted?: boolean;
}

export interface ImageContent {
	type: "image";
	/** Base64. */
	data: string;
	mimeType: string;
}

export interface ToolCall {
	type: "toolCall";
	id: string;
	name: string;
	arguments: Record<string, any>;
	thoughtSignature?: string;
}

export type Block = TextContent | ImageContent;

/** Tokens and their price in US dollars. */
export interface Usage {
	input: number;
	output: number;
	cacheRead: number;
	cacheWrite: number;
	totalTokens: number;
	/** Part of `output`. */
	reasoning?: number;
	/** Part of `cacheWrite`: what is kept for an hour. */
	cacheWrite1h?: number;
	cost: {
		input: number;
		output: number;
		cacheRead: number;
		cacheWrite: number;
		total: number;
		/** The total is what the provider billed, not the sum. */
		totalFromProvider?: boolean;
	};
}

export interface UserMessage {
	role: "user";
	content: string | Block[];
	/** Milliseconds since 1970, as in every message. */
	timestamp: number;
	attribution?: "user" | "agent";
}

export type StopReason = "pending" | "stop" | "length" | "toolUse" | "error" | "aborted" | "deferred";

export interface AssistantMessage {
	role: "assistant";
	content: (TextContent | ThinkingContent | ToolCall)[];
	api: string;
	provider: string;
	model: string;
	usage: Usage;
	stopReason: StopReason;
	errorMessage?: string;
	responseId?: string;
	/** (pi) What the provider named as the model of the answer. */
	responseModel?: string;
	/** (pi) The level that was asked for, and what the provider was told in its own words. */
	thinkingLevel?: string;
	providerThinkingLevel?: string;
	durationMs?: number;
	timestamp: number;
}

export interface ToolResultMessage<Details = unknown> {
	role: "toolResult";
	toolCallId: string;
	toolName: string;
	content: Block[];
	details?: Details;
	isError: boolean;
	/** (xcsh) The tool worked and warns; absent otherwise. */
	isWarning?: boolean;
	usage?: Usage;
	/** (pi) Calls that the tool made itself; incomplete when some were left out or still running. */
	nestedCalls?: { calls: NestedCall[]; complete: boolean };
	/** Absent when the tool never ran. */
	durationMs?: number;
	timestamp: number;
}

export interface NestedCall {
	id: string;
	name: string;
	arguments?: unknown;
	/** Their size when they were too large to keep. */
	argumentsBytes?: number;
	status: "ok" | "error" | "unfinished";
	durationMs?: number;
	error?: string;
}

/** (pi) Part of the system prompt. */
export interface SystemMessage {
	role: "system";
	content: string | TextContent[];
	sections?: Record<string, string | null>;
	/** Declarations of tools that the model has from here on, and names of those that it has not any more. */
	toolsAdded?: { name: string; description: string; parameters: unknown }[];
	toolsRemoved?: { name: string }[];
	timestamp: number;
}

/** Message of an extension; to the model it is a user message. */
export interface CustomMessage<Details = unknown> {
	role: "custom";
	customType: string;
	content: string | Block[];
	display: boolean;
	details?: Details;
	attribution?: "user" | "agent";
	timestamp: number;
}

export interface BashExecutionMessage {
	role: "bashExecution";
	command: string;
	output: string;
	exitCode?: number;
	cancelled: boolean;
	truncated: boolean;
	fullOutputPath?: string;
	excludeFromContext?: boolean;
	timestamp: number;
}

export interface BranchSummaryMessage {
	role: "branchSummary";
	summary: string;
	fromId: string;
	timestamp: number;
}

export interface CompactionSummaryMessage {
	role: "compactionSummary";
	summary: string;
	tokensBefore: number;
	timestamp: number;
}

export type Message = UserMessage | AssistantMessage | ToolResultMessage | SystemMessage;
export type AgentMessage =
	| Message
	| CustomMessage
	| BashExecutionMessage
	| BranchSummaryMessage
	| CompactionSummaryMessage;

export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

export interface Model {
	id: string;
	name: string;
	api: string;
	provider: string;
	baseUrl: string;
	reasoning: boolean;
	input: ("text" | "image")[];
	/** US dollars per million tokens. */
	cost: { input: number; output: number; cacheRead: number; cacheWrite: number };
	/** Tokens. */
	contextWindow: number;
	maxTokens: number;
	headers?: Record<string, string>;
}

/** One line of a session file. */
export interface SessionEntryBase {
	type: string;
	id: string;
	parentId: string | null;
	/** ISO 8601. */
	timestamp: string;
}

export interface SessionMessageEntry extends SessionEntryBase {
	type: "message";
	message: AgentMessage;
}

export interface CustomEntry<Data = unknown> extends SessionEntryBase {
	type: "custom";
	customType: string;
	data?: Data;
}

export interface CustomMessageEntry<Details = unknown> extends SessionEntryBase {
	type: "custom_message";
	customType: string;
	content: string | Block[];
	display: boolean;
	details?: Details;
}

export interface CompactionEntry<Details = unknown> extends SessionEntryBase {
	type: "compaction";
	summary: string;
	firstKeptEntryId?: string;
	tokensBefore: number;
	details?: Details;
	/** What making the summary cost. */
	usage?: Usage;
	/** Written by an extension: (pi) `fromHook`, (xcsh) `fromExtension`. */
	fromHook?: boolean;
	fromExtension?: boolean;
	/** (pi) The system prompt that holds from here on. */
	systemMessage?: SystemMessage;
	/** (xcsh) */
	shortSummary?: string;
	preserveData?: unknown;
}

export interface BranchSummaryEntry<Details = unknown> extends SessionEntryBase {
	type: "branch_summary";
	fromId: string;
	summary: string;
	details?: Details;
	usage?: Usage;
	fromHook?: boolean;
	fromExtension?: boolean;
}

export interface LabelEntry extends SessionEntryBase {
	type: "label";
	targetId: string;
	label?: string;
}

export interface ModelChangeEntry extends SessionEntryBase {
	type: "model_change";
	provider?: string;
	modelId?: string;
	/** (xcsh) `provider/id`, and what the model is used for. */
	model?: string;
	role?: string;
}

export interface ThinkingLevelChangeEntry extends SessionEntryBase {
	type: "thinking_level_change";
	thinkingLevel: string | null;
}

export interface SessionInfoEntry extends SessionEntryBase {
	type: "session_info";
	name?: string;
}

export interface ContextEditEntry extends SessionEntryBase {
	type: "context_edit";
	targetId: string;
	replacement: null | { content: string | Block[] };
}

export interface UsageEntry extends SessionEntryBase {
	type: "usage";
	kind: string;
	provider: string;
	model: string;
	usage: Usage;
}

export type SessionEntry =
	| SessionMessageEntry
	| CustomEntry
	| CustomMessageEntry
	| CompactionEntry
	| BranchSummaryEntry
	| LabelEntry
	| ModelChangeEntry
	| ThinkingLevelChangeEntry
	| SessionInfoEntry
	| ContextEditEntry
	| UsageEntry;
