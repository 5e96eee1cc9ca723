// The shapes of `docs/bridge-protocol.md` as types: calls of the host into this isolate and what registrations look like.
// Data only. Host methods are in `protocol-methods.ts`.

import type { JsonObject, JsonValue } from "./json.ts";

import type { ComponentHeader } from "./ui/components.ts";

export type { AsyncMethods, SyncMethods } from "./protocol-methods.ts";

/** Index of one extension, unique in the process. */
export type ExtId = number;
/** One call that gives code a context, unique in the process. */
export type CallId = number;

export type Profile = "pi" | "xcsh";
export type HostMode = "tui" | "rpc" | "json" | "print";
export type UiFlavor = "tui" | "rpc" | "acp" | "background" | "none";

export interface UiProfile {
	flavor: UiFlavor;
	/** What `ctx.ui.custom()` does where components cannot be shown. */
	custom?: "reject" | "undefined";
	/** Whether the frontend can draw components. */
	components?: boolean;
	/** Size of the frontend's terminal, if it has one. */
	columns?: number;
	rows?: number;
}

/** Under which surface a module was found (extension-loading §8). */
export type LoadSurface = "extension" | "tool" | "command";

export interface LoadHeader {
	ext: ExtId;
	entry: string;
	path: string;
	profile: Profile;
	cwd: string;
	configDirName: string;
	agentDir: string;
	appName: string;
	version: string;
	/** Absent: `extension`. */
	surface?: LoadSurface;
	flags?: Record<string, FlagValue>;
}

export interface BindHeader {
	mode: HostMode;
	hasUI: boolean;
	ui?: UiProfile;
}

export type FlagValue = boolean | string;

export interface DispatchHeader {
	ext: ExtId;
	handler: number;
	callId: CallId;
	/** Members whose in-place edits the host wants back. */
	returns?: string[];
}

export interface DispatchOutcome {
	result?: unknown;
	event?: Record<string, unknown>;
	assigned?: string[];
}

export interface ExecuteToolHeader {
	ext: ExtId;
	tool: string;
	toolCallId: string;
	callId: CallId;
	/** The tool is not abortable: it gets no signal. */
	noSignal?: boolean;
}

export interface RenderHeader {
	ext: ExtId;
	what: "message" | "entry" | "toolCall" | "toolResult";
	width: number;
	expanded?: boolean;
	isPartial?: boolean;
	spinnerFrame?: number;
}

export type OAuthOperation = "login" | "refreshToken" | "getApiKey" | "modifyModels";
export type StreamHook = "payload" | "response" | "event";

/** Header type of every call kind. */
export interface HandlerKinds {
	load: LoadHeader;
	realmEnd: Record<string, never>;
	bind: BindHeader;
	dispatch: DispatchHeader;
	executeTool: ExecuteToolHeader;
	childTool: ExecuteToolHeader & { session: number; op: "prepare" | "execute" };
	prepareArguments: { ext: ExtId; tool: string };
	toolSession: { ext: ExtId; tool: string; callId: CallId };
	runCommand: { ext: ExtId; command: string; args: string; callId: CallId };
	completions: { ext: ExtId; command: string; prefix: string };
	shortcut: { ext: ExtId; key: string; callId: CallId };
	stream: { ext: ExtId; provider: string; callId: CallId; hooks?: StreamHook[] };
	oauth: { ext: ExtId; provider: string; op: OAuthOperation; callId: CallId };
	refreshModels: { ext: ExtId; provider: string; callId: CallId };
	serviceStatus: { ext: ExtId; name: string; callId: CallId };
	profileCollect: { ext: ExtId; id: string; callId: CallId };
	bashExec: { handle: number; callId: CallId };
	render: RenderHeader;
	transformMarkdown: { ext: ExtId };
	component: ComponentHeader;
	callback: { handle: number; callId?: CallId };
	release: { handles?: number[]; toolCalls?: string[] };
	abort: { callId?: CallId; runId?: number; reason?: string };
	busDeliver: { channel: string; from: ExtId | string };
	flags: { values: Record<string, FlagValue> };
	stale: { ext: ExtId; message?: string };
}

// ---------------------------------------------------------------- registrations

export interface HandlerRegistration {
	id: number;
	event: string;
}

export interface ToolRegistration {
	name: string;
	label?: string;
	description: string;
	parameters: JsonValue;
	hidden?: boolean;
	defaultInactive?: boolean;
	promptSnippet?: string;
	promptGuidelines?: JsonValue;
	executionMode?: string;
	hasPrepareArguments: boolean;
	hasRenderCall: boolean;
	hasRenderResult: boolean;
	hasOnSession: boolean;
	own: string[];
	[other: string]: JsonValue | undefined;
}

export interface CommandRegistration {
	name: string;
	description?: string;
	hasCompletions: boolean;
}

export interface FlagRegistration {
	name: string;
	type: "boolean" | "string";
	description?: string;
	default?: FlagValue;
}

export interface ShortcutRegistration {
	key: string;
	description?: string;
}

export interface ProviderRegistration {
	name: string;
	config: JsonObject;
	hasStreamSimple: boolean;
	hasOAuth: boolean;
	hasModifyModels: boolean;
	hasRefreshModels: boolean;
}

export interface ServiceStatusRegistration {
	name: string;
	group?: string;
	fix?: JsonValue;
}

export interface ProfileCollectorRegistration {
	id: string;
	name: string;
	authoritativeFields?: JsonValue;
}

/** What a factory registered, or the new parts of a late change. */
export interface Registrations {
	label?: string;
	handlers?: HandlerRegistration[];
	tools?: ToolRegistration[];
	commands?: CommandRegistration[];
	flags?: FlagRegistration[];
	shortcuts?: ShortcutRegistration[];
	messageRenderers?: string[];
	entryRenderers?: string[];
	toolRenderer?: true;
	markdownTransformer?: { messageTypes?: string[] };
	providers?: ProviderRegistration[];
	serviceStatus?: ServiceStatusRegistration[];
	profileCollectors?: ProfileCollectorRegistration[];
	bus?: string[];
}

// ---------------------------------------------------------------- shared data

export interface SessionEntry {
	type: string;
	id: string;
	parentId: string | null;
	timestamp: string;
	[member: string]: unknown;
}

export interface SessionSync {
	epoch: number;
	version: number;
	reset: boolean;
	entries: SessionEntry[];
	leafId: string | null;
	header: JsonObject | null;
	sessionFile?: string;
	sessionDir: string;
	sessionId: string;
	sessionName?: string;
	cwd: string;
}

export interface ContextUsage {
	tokens: number | null;
	contextWindow: number;
	percent: number | null;
}

export interface ModelInfo {
	id: string;
	name: string;
	provider: string;
	api: string;
	baseUrl?: string;
	headers?: Record<string, string>;
	type?: string;
	[member: string]: unknown;
}

export interface HostState {
	version: number;
	runId?: number;
	model?: ModelInfo;
	thinkingLevel?: string;
	idle: boolean;
	pendingMessages: boolean | number;
	activeTools: string[];
	contextUsage?: ContextUsage;
	systemPrompt: string;
	trusted: boolean;
	scopedModels: unknown[];
	sessionEpoch: number;
	sessionVersion: number;
}

export interface ToolInfo {
	name: string;
	description: string;
	parameters: JsonValue;
	sourceInfo?: JsonObject;
	[member: string]: unknown;
}

export interface ProviderInfo {
	name: string;
	displayName?: string;
	baseUrl?: string;
	auth?: "oauth" | "api_key" | "env" | "none";
	/** A request could be made now. */
	configured?: boolean;
}

/** A file of the blob store; a message refers to it by `ref`. */
export interface StoredBlob {
	hash: string;
	path: string;
	ref: string;
}

/** What requests to a provider are made with. */
export interface RequestAuth {
	apiKey?: string;
	headers?: Record<string, string>;
	baseUrl?: string;
}

export interface ExecOutcome {
	stdout: string;
	stderr: string;
	code: number;
	killed: boolean;
	truncated?: boolean;
}

export interface DialogAnswer {
	value?: unknown;
	confirmed?: boolean;
	cancelled?: boolean;
	timedOut?: boolean;
	/** Arrow key that closed a selector which offers one. */
	key?: "left" | "right";
}
