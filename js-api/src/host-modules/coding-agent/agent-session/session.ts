// A session that this extension started (sdk-exports §2.2). The session lives in the host; this object asks it and listens to it.

import type { ChildState } from "../../../api/protocol-methods.ts";
import type { ModelInfo, SessionEntry, ToolInfo } from "../../../api/protocol.ts";
import { isRecord } from "../../../api/json.ts";
import { currentModelRegistry, type ModelRegistry } from "../../../api/model-registry.ts";
import { forgetFactories, within } from "../../../api/realm.ts";
import { currentRuntime, type Runtime } from "../../../api/runtime.ts";
import { SessionMirror } from "../../../api/session-mirror.ts";
import { hostCall, hostCallAsync } from "../../../host.ts";
import type { SessionManager } from "../session-manager.ts";
import type { SettingsManager } from "../settings.ts";
import { type AgentSessionEvent, EventReader } from "./events.ts";
import type { ResourceLoader } from "./resource-loader.ts";

export type { AgentSessionEvent } from "./events.ts";
export type AgentSessionEventListener = (event: AgentSessionEvent) => void;

export interface PromptOptions {
	/** False sends the text as it is: no commands, skills or templates. */
	expandPromptTemplates?: boolean;
	images?: unknown[];
	/** What to do while a run is active; without it that is an error. */
	streamingBehavior?: "steer" | "followUp";
	/** Told what became of the prompt before its run is waited for. */
	preflightResult?: (disposition: string) => void;
	source?: string;
}

interface Parts {
	id: number;
	ext: number;
	sessionManager: SessionManager;
	settingsManager: SettingsManager;
	resourceLoader: ResourceLoader | undefined;
	/** Of the extensions that it was given as functions. */
	inline: number | undefined;
}

type Fields = Record<string, unknown>;

/** Members that are not `undefined`. */
function given(fields: Fields): Fields {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Made by `createAgentSession`. */
export class AgentSession {
	readonly sessionManager: SessionManager;
	readonly settingsManager: SettingsManager;
	/** The loader that it was created with, if one was given. */
	readonly resourceLoader: ResourceLoader | undefined;
	/** The run of the session, as pi's lower layer shows it. */
	readonly agent: {
		readonly state: AgentSession["state"];
		subscribe(listener: AgentSessionEventListener): () => void;
		abort(): void;
		waitForIdle(): Promise<void>;
	};
	/** Where it was made; what it asks the host is asked from there. */
	readonly #runtime: Runtime = currentRuntime();
	readonly #inline: number | undefined;
	readonly #id: number;
	readonly #ext: number;
	readonly #listeners = new Set<AgentSessionEventListener>();
	#handle: number | undefined;
	#disposed = false;

	/** @internal */
	constructor(parts: Parts) {
		this.#id = parts.id;
		this.#inline = parts.inline;
		this.#ext = parts.ext;
		this.sessionManager = parts.sessionManager;
		this.settingsManager = parts.settingsManager;
		this.resourceLoader = parts.resourceLoader;
		const mirror = new SessionMirror({
			version: () => this.#get("version"),
			sync: (known) => this.#here(() => hostCall("child.sync", { session: this.#id, ...known })),
		});
		this.sessionManager.attach(mirror.manager, (entry) => this.#act("append", { entry }).id);
		const session = this;
		this.agent = {
			get state() {
				return session.state;
			},
			subscribe: (listener) => this.subscribe(listener),
			abort: () => void this.#act("abort"),
			waitForIdle: () => this.waitForIdle(),
		};
	}

	#here<T>(fn: () => T): T {
		return within(this.#runtime, fn);
	}

	#get(what: string) {
		return this.#here(() => hostCall("child.get", { session: this.#id, what }));
	}

	#act(op: string, fields: Fields = {}): { id: string } {
		return this.#here(() => hostCall("child.act", { session: this.#id, op, ...fields }));
	}

	#run(op: string, fields: Fields = {}) {
		const callId = this.#runtime.calls.current;
		return this.#here(() => hostCallAsync("child.run", { session: this.#id, op, ...given({ callId, ...fields }) }));
	}

	get #state(): ChildState {
		return this.#here(() => hostCall("child.state", { session: this.#id }));
	}

	// ------------------------------------------------------------ events and life

	/** Calls `listener` for every event, in order; answers how to stop that. */
	subscribe(listener: AgentSessionEventListener): () => void {
		// One entry for each call, as the same function may be added twice.
		const own: AgentSessionEventListener = (event) => listener(event);
		this.#listeners.add(own);
		if (this.#handle === undefined && !this.#disposed) this.#connect();
		return () => {
			if (this.#listeners.delete(own) && this.#listeners.size === 0) this.#disconnect();
		};
	}

	#connect(): void {
		const runtime = this.#runtime;
		const reader = new EventReader();
		const handle = runtime.callbacks.add(([events]) => {
			for (const event of events as AgentSessionEvent[]) this.#tell(reader.read(event));
		});
		try {
			this.#act("subscribe", { handle });
			this.#handle = handle;
		} catch (error) {
			runtime.callbacks.release([handle]);
			throw error;
		}
	}

	#tell(event: AgentSessionEvent): void {
		for (const listener of [...this.#listeners]) {
			try {
				listener(event);
			} catch (error) {
				this.#here(() => this.#runtime.report(this.#ext, `subscribe:${event.type}`, error));
			}
		}
	}

	#disconnect(): void {
		const handle = this.#handle;
		if (handle === undefined) return;
		this.#handle = undefined;
		this.#runtime.callbacks.release([handle]);
		if (!this.#disposed) this.#act("unsubscribe");
	}

	/** Ends the session: its run, its extensions, what they started. The promise may be ignored. */
	dispose(): Promise<void> {
		if (this.#disposed) return Promise.resolve();
		const ended = this.#run("dispose").then(() => undefined);
		this.#disposed = true;
		this.#listeners.clear();
		this.#disconnect();
		this.#runtime.childTools.delete(this.#id);
		// Its extensions may run until then. Nobody needs to wait for it.
		ended
			.catch(() => undefined)
			.finally(() => {
				if (this.#inline !== undefined) forgetFactories(this.#inline);
			});
		return ended;
	}

	/** Starts the session's extensions: `session_start` and `resources_discover`. Their UI is that of a session without one. */
	async bindExtensions(_bindings?: unknown): Promise<void> {
		await this.#run("start");
	}

	async reload(): Promise<void> {
		await this.#run("reload");
	}

	// ------------------------------------------------------------ prompting

	/** Sends a prompt; resolves when nothing is left to do, or at once when it was queued. */
	async prompt(text: string, options: PromptOptions = {}): Promise<void> {
		const { images, streamingBehavior, expandPromptTemplates, preflightResult } = options;
		const disposition = await this.#run("prompt", {
			text: String(text),
			images,
			streamingBehavior,
			literal: expandPromptTemplates === false ? true : undefined,
		});
		preflightResult?.(disposition);
	}

	steer(text: string, images?: unknown[]): Promise<string> {
		return this.#run("steer", { text: String(text), images });
	}

	followUp(text: string, images?: unknown[]): Promise<string> {
		return this.#run("followUp", { text: String(text), images });
	}

	async sendCustomMessage(message: Fields, options: Fields = {}): Promise<void> {
		this.#act("sendMessage", { message, options });
	}

	async sendUserMessage(content: unknown, options: Fields = {}): Promise<void> {
		this.#act("sendUserMessage", { content, options });
	}

	/** Empties both queues; answers what was in them. */
	clearQueue(): { steering: string[]; followUp: string[] } {
		const { steering, followUp } = this.#state;
		this.#run("clearQueue").catch(() => undefined);
		return { steering, followUp };
	}

	async abort(): Promise<void> {
		await this.#run("abort");
	}

	async waitForIdle(): Promise<void> {
		await this.#run("idle");
	}

	get pendingMessageCount(): number {
		const { steering, followUp } = this.#state;
		return steering.length + followUp.length;
	}

	getSteeringMessages(): readonly string[] {
		return this.#state.steering;
	}

	getFollowUpMessages(): readonly string[] {
		return this.#state.followUp;
	}

	// ------------------------------------------------------------ state

	get state() {
		const { model, thinkingLevel, systemPrompt, idle } = this.#state;
		const messages = this.messages;
		const last = messages.findLast((message) => (message as { role?: string }).role === "assistant") as
			| { errorMessage?: string }
			| undefined;
		const active = new Set(this.getActiveToolNames());
		return {
			systemPrompt,
			model,
			thinkingLevel,
			isStreaming: !idle,
			messages,
			tools: this.getAllTools().filter((tool) => active.has(tool.name)),
			pendingToolCalls: new Set<string>(),
			...given({ errorMessage: last?.errorMessage }),
		};
	}

	/** Messages of the current branch, after compaction. */
	get messages(): Record<string, unknown>[] {
		return this.#get("messages");
	}

	get model(): ModelInfo | undefined {
		return this.#state.model ?? undefined;
	}

	get thinkingLevel(): string | undefined {
		return this.#state.thinkingLevel ?? undefined;
	}

	get isStreaming(): boolean {
		return !this.#state.idle;
	}

	get isIdle(): boolean {
		return this.#state.idle;
	}

	get isCompacting(): boolean {
		return this.#state.isCompacting;
	}

	get systemPrompt(): string {
		return this.#state.systemPrompt;
	}

	get steeringMode(): string {
		return this.#state.steeringMode;
	}

	get followUpMode(): string {
		return this.#state.followUpMode;
	}

	get autoCompactionEnabled(): boolean {
		return this.#state.autoCompaction;
	}

	get scopedModels(): readonly unknown[] {
		return this.#state.scopedModels;
	}

	get modelRegistry(): ModelRegistry {
		return currentModelRegistry();
	}

	get sessionFile(): string | undefined {
		return this.sessionManager.getSessionFile();
	}

	get sessionId(): string {
		return this.sessionManager.getSessionId();
	}

	get sessionName(): string | undefined {
		return this.sessionManager.getSessionName();
	}

	/** Templates and skills that a prompt may name. */
	get promptTemplates(): readonly { name: string; description?: string }[] {
		return (this.#get("commands") as { name: string; source: string }[]).filter(({ source }) => source === "prompt");
	}

	getSessionStats() {
		return this.#get("stats");
	}

	getContextUsage(): unknown {
		return this.#state.contextUsage ?? undefined;
	}

	getLastAssistantText(): string | undefined {
		return this.#get("lastAssistantText") ?? undefined;
	}

	// ------------------------------------------------------------ tools, model, name

	getActiveToolNames(): string[] {
		return this.#state.activeTools;
	}

	getAllTools(): ToolInfo[] {
		return this.#get("tools");
	}

	setActiveToolsByName(names: string[]): void {
		this.#act("setActiveTools", { names: names.map(String) });
	}

	async setModel(model: unknown): Promise<void> {
		if (!isRecord(model) || typeof model.provider !== "string" || typeof model.id !== "string") {
			throw new TypeError("setModel: model must have a provider and an id");
		}
		await this.#run("setModel", { provider: model.provider, id: model.id });
	}

	async cycleModel(): Promise<{ model: ModelInfo; thinkingLevel: string; isScoped: boolean } | undefined> {
		return (await this.#run("cycleModel")) ?? undefined;
	}

	setScopedModels(models: { model: unknown; thinkingLevel?: string }[]): void {
		this.#act("setScopedModels", { models });
	}

	setThinkingLevel(level: string): void {
		this.#act("setThinkingLevel", { level });
	}

	/** The level that is in force afterwards is announced by `thinking_level_changed`. */
	async cycleThinkingLevel(): Promise<string | undefined> {
		return (await this.#run("cycleThinkingLevel")) ?? undefined;
	}

	getAvailableThinkingLevels(): string[] {
		return this.#state.thinkingLevels;
	}

	supportsThinking(): boolean {
		return this.#state.thinkingLevels.some((level) => level !== "off");
	}

	setSessionName(name: string): void {
		this.#act("setSessionName", { name: String(name) });
	}

	// ------------------------------------------------------------ compaction, commands, tree

	compact(customInstructions?: string): Promise<unknown> {
		return this.#run("compact", { customInstructions });
	}

	abortCompaction(): void {
		this.#act("abort");
	}

	abortRetry(): void {
		this.#act("abortRetry");
	}

	async executeBash(command: string, _onChunk?: unknown, options: { excludeFromContext?: boolean } = {}) {
		return this.#run("bash", { command, excludeFromContext: options.excludeFromContext });
	}

	abortBash(): void {
		this.#act("abortBash");
	}

	navigateTree(targetId: string, options: Fields = {}): Promise<{ cancelled: boolean; editorText?: string }> {
		return this.#run("navigate", { ...options, targetId });
	}

	/** Entries of the current branch. */
	getBranch(): SessionEntry[] {
		return this.sessionManager.getBranch() as SessionEntry[];
	}
}
