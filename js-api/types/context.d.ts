// Contexts: what handlers, commands and tools get beside their event.

import type { Model, SessionEntry, ThinkingLevel } from "./messages.js";
import type { ExtensionUIContext } from "./ui.js";

export interface SessionTreeNode {
	entry: SessionEntry;
	children: SessionTreeNode[];
	label?: string;
}

/** Reads the running session. All methods are synchronous; entries must not be changed. */
export interface ReadonlySessionManager {
	getCwd(): string;
	getSessionDir(): string;
	getSessionId(): string;
	/** `undefined` for a session in memory. */
	getSessionFile(): string | undefined;
	getSessionName(): string | undefined;
	/** `null` while the session is empty. */
	getLeafId(): string | null;
	getLeafEntry(): SessionEntry | undefined;
	getEntry(id: string): SessionEntry | undefined;
	getLabel(id: string): string | undefined;
	/** Root to leaf. */
	getBranch(fromId?: string): SessionEntry[];
	/** In the order of the file. */
	getEntries(): SessionEntry[];
	getTree(): SessionTreeNode[];
	getHeader(): Record<string, unknown> | null;
}

export interface ModelRegistry {
	getAll(): Model[];
	/** Models with a credential. */
	getAvailable(): Model[];
	find(provider: string, id: string): Model | undefined;
	/** Subject to the extension's permissions. */
	getApiKey(model: Model): Promise<string | undefined>;
	getApiKeyForProvider(provider: string): Promise<string | undefined>;
	/** A request with the host's credentials. Never rejects: failures are messages with `stopReason: "error"`. */
	complete(
		model: Model,
		context: { systemPrompt?: string; messages: unknown[]; tools?: unknown[] },
		options?: object,
	): Promise<any>;
}

export interface ContextUsage {
	/** `null` right after a compaction. */
	tokens: number | null;
	contextWindow: number;
	percent: number | null;
}

export interface CompactOptions {
	customInstructions?: string;
	onComplete?: (result: unknown) => void;
	onError?: (error: Error) => void;
}

export interface ExtensionContext {
	readonly ui: ExtensionUIContext;
	/** False where nobody can answer a dialog. */
	readonly hasUI: boolean;
	readonly mode: "tui" | "rpc" | "json" | "print";
	readonly cwd: string;
	readonly sessionManager: ReadonlySessionManager;
	readonly modelRegistry: ModelRegistry;
	readonly model: Model | undefined;
	readonly thinkingLevel: ThinkingLevel | undefined;
	/** Signal of the current run; `undefined` when idle. */
	readonly signal: AbortSignal | undefined;
	isIdle(): boolean;
	isProjectTrusted(): boolean;
	/** Stops the current run. */
	abort(): void;
	hasPendingMessages(): boolean;
	/** Ends the host when it is idle. */
	shutdown(): void;
	getContextUsage(): ContextUsage | undefined;
	compact(options?: string | CompactOptions): Promise<void>;
	getSystemPrompt(): string;
}

export interface SessionControlResult {
	cancelled: boolean;
}

type WithSession = (ctx: ExtensionCommandContext) => void | Promise<void>;

/** For commands and shortcuts. After replacing the session, use only the context that `withSession` gets. */
export interface ExtensionCommandContext extends ExtensionContext {
	/** Rejects when called from within the run that it would wait for. */
	waitForIdle(): Promise<void>;
	newSession(options?: {
		parentSession?: string;
		setup?: (sessionManager: any) => void | Promise<void>;
		withSession?: WithSession;
	}): Promise<SessionControlResult>;
	/** (xcsh) The same as `fork(entryId)`. */
	branch(entryId: string): Promise<SessionControlResult>;
	fork(
		entryId: string,
		options?: { position?: "before" | "at"; withSession?: WithSession },
	): Promise<SessionControlResult>;
	navigateTree(
		targetId: string,
		options?: { summarize?: boolean; customInstructions?: string; replaceInstructions?: boolean; label?: string },
	): Promise<SessionControlResult>;
	switchSession(path: string, options?: { withSession?: WithSession }): Promise<SessionControlResult>;
	reload(): Promise<void>;
}
