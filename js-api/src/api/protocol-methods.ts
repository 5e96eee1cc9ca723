// Calls from an isolate to the host, by method, as in `docs/bridge-protocol.md`. Types only.

import type { JsonValue } from "./json.ts";
import type {
	CallId,
	DialogAnswer,
	ExecOutcome,
	ExtId,
	HostState,
	ModelInfo,
	ProviderInfo,
	Registrations,
	RequestAuth,
	SessionSync,
	StoredBlob,
	ToolInfo,
} from "./protocol.ts";

interface Method<A, R> {
	args: A;
	result: R;
}
type None = undefined;

/** Answered at once from shared state. */
export interface SyncMethods {
	register: Method<{ ext: ExtId; change: Registrations }, void>;
	unregister: Method<{ ext: ExtId; kind: string; id: string | number }, void>;
	"session.sync": Method<{ epoch?: number | undefined; version?: number | undefined }, SessionSync>;
	"session.append": Method<{ callId: CallId; entry: Record<string, unknown> }, { id: string }>;
	state: Method<None, HostState>;
	stateVersion: Method<None, number>;
	"run.watch": Method<{ runId: number }, { aborted: boolean }>;
	allTools: Method<None, ToolInfo[]>;
	commands: Method<None, Record<string, unknown>[]>;
	models: Method<{ available?: boolean } | undefined, ModelInfo[]>;
	modelsProblem: Method<None, string | undefined>;
	providers: Method<None, ProviderInfo[]>;
	systemPromptOptions: Method<None, Record<string, unknown>>;
	settings: Method<None, Record<string, unknown>>;
	sendMessage: Method<
		{ ext: ExtId; callId?: CallId; message: Record<string, unknown>; options?: Record<string, unknown> },
		void
	>;
	sendUserMessage: Method<{ ext: ExtId; callId?: CallId; content: unknown; options?: Record<string, unknown> }, void>;
	appendEntry: Method<{ ext: ExtId; customType: string; data?: unknown }, { id: string }>;
	setEntryLabel: Method<{ entryId: string; label?: string }, void>;
	setLabel: Method<{ ext: ExtId; label: string }, void>;
	setActiveTools: Method<{ names: string[] }, void>;
	setThinkingLevel: Method<{ level: string }, void>;
	setSessionName: Method<{ name: string }, void>;
	abort: Method<{ callId?: CallId }, void>;
	shutdown: Method<None, void>;
	ui: Method<{ ext: ExtId; callId?: CallId; method: string; [field: string]: unknown }, JsonValue | undefined>;
	uiState: Method<{ what: string; name?: string }, JsonValue | undefined>;
	"ui.cancelDialog": Method<{ dialogId: number; reason: "timeout" | "signal" | "done" }, void>;
	"tool.update": Method<{ callId: CallId; partial: unknown }, void>;
	"stream.events": Method<{ callId: CallId; events: unknown[] }, { full?: boolean } | undefined>;
	"bus.targets": Method<{ channel: string }, number>;
	"bus.emit": Method<{ ext: ExtId; channel: string; data: unknown }, void>;
	log: Method<{ ext: ExtId; level: string; message: string; context?: unknown }, void>;
	"render.invalidate": Method<{ ext: ExtId; toolCallId: string }, void>;
	error: Method<{ ext: ExtId; event: string; name: string; message: string; stack?: string }, void>;
	unregisterProvider: Method<{ ext: ExtId; name: string }, void>;
	"exec.cancel": Method<{ execId: number }, void>;
	"fileTurn.ask": Method<{ path: string; callId?: CallId; inside?: readonly number[] }, { turn: number }>;
	"fileTurn.end": Method<{ turn: number }, void>;
	"executeTool.cancel": Method<{ nestedId: number; reason?: string }, void>;
	"child.state": Method<{ session: number }, ChildState>;
	"child.sync": Method<{ session: number; epoch?: number | undefined; version?: number | undefined }, SessionSync>;
	// biome-ignore lint/suspicious/noExplicitAny: the answer depends on what is asked for.
	"child.get": Method<{ session: number; what: string }, any>;
	"child.act": Method<{ session: number; op: string; [field: string]: unknown }, { id: string }>;
	"complete.cancel": Method<{ completionId: number; reason?: string }, void>;
}

/** State of a session that this isolate started. */
export interface ChildState extends HostState {
	isCompacting: boolean;
	steering: string[];
	followUp: string[];
	steeringMode: string;
	followUpMode: string;
	autoCompaction: boolean;
	thinkingLevels: string[];
}

export interface ChildCreated {
	session: number;
	ext: ExtId;
	extensions: string[];
	errors: { path: string; error: string }[];
	modelFallbackMessage?: string;
}

export interface ChildResources {
	systemPrompt: string | null;
	appendSystemPrompt: string[];
	agentsFiles: { path: string; content: string }[];
	skills: Record<string, unknown>[];
	prompts: Record<string, unknown>[];
	diagnostics: { type: string; message: string }[];
}

export interface SessionControlResult {
	cancelled: boolean;
}

export interface NestedToolOutcome {
	toolCall: unknown;
	result: unknown;
	isError: boolean;
	durationMs?: number;
}

/** Answered by a promise. */
export interface AsyncMethods {
	"bash.data": Method<{ callId: CallId; data: string }, void>;
	exec: Method<
		{
			ext: ExtId;
			callId?: CallId;
			execId: number;
			command: string;
			args: string[];
			cwd?: string;
			timeout?: number;
			maxBuffer?: number;
		},
		ExecOutcome
	>;
	"ui.dialog": Method<
		{ ext: ExtId; callId?: CallId; dialogId: number; method: string; timeout?: number; [field: string]: unknown },
		DialogAnswer
	>;
	waitForIdle: Method<{ callId: CallId }, void>;
	setModel: Method<{ provider: string; id: string }, boolean>;
	compact: Method<{ callId?: CallId; customInstructions?: string }, unknown>;
	newSession: Method<
		{ callId: CallId; parentSession?: string; setup?: number; withSession?: number },
		SessionControlResult
	>;
	switchSession: Method<{ callId: CallId; path: string; withSession?: number }, SessionControlResult>;
	fork: Method<
		{ callId: CallId; entryId: string; position: "before" | "at"; withSession?: number },
		SessionControlResult
	>;
	navigateTree: Method<{ callId: CallId; targetId: string; [option: string]: unknown }, SessionControlResult>;
	reload: Method<{ callId: CallId }, void>;
	executeTool: Method<
		{
			callId: CallId;
			nestedId: number;
			name: string;
			args: unknown;
			onUpdate?: number;
			inside?: readonly number[];
		},
		NestedToolOutcome
	>;
	"session.artifact": Method<
		{ op: "allocate" | "save" | "path"; toolType?: string; content?: string; id?: string },
		{ id?: string; path?: string }
	>;
	runBuiltinTool: Method<
		{ name: string; args: unknown; cwd: string; options?: unknown; builtinId: number; [part: string]: unknown },
		unknown
	>;
	"fileTurn.wait": Method<{ turn: number }, void>;
	putBlob: Method<{ data: string }, StoredBlob>;
	getApiKey: Method<{ provider: string }, string | null>;
	requestAuth: Method<{ provider: string; model?: string }, RequestAuth>;
	refreshModels: Method<None, void>;
	"child.create": Method<{ callId?: CallId; request: Record<string, unknown> }, ChildCreated>;
	"child.resources": Method<{ cwd?: string; resources: Record<string, unknown> }, ChildResources>;
	// biome-ignore lint/suspicious/noExplicitAny: the answer depends on the operation.
	"child.run": Method<{ session: number; callId?: CallId; op: string; [field: string]: unknown }, any>;
	complete: Method<
		{
			completionId: number;
			model: unknown;
			context: unknown;
			options: unknown;
			callId?: CallId;
			onEvent?: number;
		},
		Record<string, unknown>
	>;
	"stream.event": Method<{ callId: CallId; data: unknown }, void>;
	"stream.drain": Method<{ callId: CallId }, void>;
	"stream.payload": Method<{ callId: CallId; payload: unknown }, { payload: unknown } | undefined>;
	"stream.response": Method<{ callId: CallId; status: number; headers: unknown }, void>;
	"oauth.interact": Method<{ callId: CallId; kind: string; [field: string]: unknown }, { value?: unknown } | undefined>;
}
