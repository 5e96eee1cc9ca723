// `ExtensionAPI`: the argument of an extension's factory. The union of what the products of the family offer.

import type { ExtensionCommandContext, ExtensionContext } from "./context.js";
import type { ExtensionEventMap, ExtensionEventName, LlmTraceRecord } from "./events.js";
import type { Block, CustomEntry, CustomMessage, Model, ThinkingLevel } from "./messages.js";
import type { ToolDefinition, ToolInfo } from "./tools.js";
import type { Component, Theme } from "./ui.js";

export type ExtensionHandler<Name extends ExtensionEventName> = (
	event: ExtensionEventMap[Name]["event"],
	ctx: ExtensionContext,
) =>
	| ExtensionEventMap[Name]["result"]
	| void
	| undefined
	| Promise<ExtensionEventMap[Name]["result"] | void | undefined>;

/** The default export of an extension. */
export type ExtensionFactory = (pi: ExtensionAPI) => void | Promise<void>;

export interface ExecOptions {
	signal?: AbortSignal;
	/** Milliseconds. */
	timeout?: number;
	/** Defaults to the session's directory. */
	cwd?: string;
	/** Bytes over both streams. */
	maxBuffer?: number;
}

export interface ExecResult {
	stdout: string;
	stderr: string;
	/** Never rejects for a failing command: 128 + n after a signal, 1 for a missing program. */
	code: number;
	killed: boolean;
	truncated?: boolean;
}

export interface AutocompleteItem {
	value: string;
	label: string;
	description?: string;
}

export interface CommandOptions {
	description?: string;
	/** Called while a person types arguments. */
	getArgumentCompletions?(prefix: string): AutocompleteItem[] | null | Promise<AutocompleteItem[] | null>;
	/** `args` is what follows the first space, untrimmed. */
	handler(args: string, ctx: ExtensionCommandContext): void | Promise<void>;
}

export interface SlashCommandInfo {
	name: string;
	description?: string;
	source: "extension" | "prompt" | "skill";
}

export interface EventBus {
	emit(channel: string, data: unknown): void;
	on(channel: string, handler: (data: any) => void): () => void;
}

export interface Logger {
	error(message: string, context?: Record<string, unknown>): void;
	warn(message: string, context?: Record<string, unknown>): void;
	debug(message: string, context?: Record<string, unknown>): void;
}

export interface OAuthCredentials {
	refresh: string;
	access: string;
	/** Milliseconds since 1970. */
	expires: number;
	[member: string]: unknown;
}

export interface ProviderModelConfig extends Partial<Omit<Model, "provider">> {
	id: string;
	name: string;
}

export interface ProviderConfig {
	name?: string;
	baseUrl?: string;
	/** A literal, the name of an environment variable, or a template with `$NAME` or a leading `!command`. */
	apiKey?: string;
	/** Wire protocol of the models. */
	api?: string;
	/** Answers synchronously with a stream that the model library's `createAssistantMessageEventStream` made. */
	streamSimple?(model: Model, context: any, options?: any): AsyncIterable<unknown>;
	headers?: Record<string, string>;
	authHeader?: boolean;
	/** Replaces the provider's models. */
	models?: ProviderModelConfig[];
	oauth?: {
		name: string;
		login(callbacks: any): Promise<OAuthCredentials | string>;
		refreshToken(credentials: OAuthCredentials, signal?: AbortSignal): Promise<OAuthCredentials>;
		getApiKey(credentials: OAuthCredentials): string;
		modifyModels?(models: Model[], credentials: OAuthCredentials): Model[];
	};
}

export type MessageRenderer<Details = any> = (
	message: CustomMessage<Details>,
	options: { expanded: boolean },
	theme: Theme,
) => Component | undefined;

export type EntryRenderer<Data = any> = (
	entry: CustomEntry<Data>,
	options: { expanded: boolean },
	theme: Theme,
) => Component | undefined;

/**
 * Registering and reading is possible at once; everything that acts on the session (from `sendMessage` on) only after loading, and throws
 * `ExtensionRuntimeNotInitializedError` before. Every method also works detached: `const { on } = pi`.
 */
export interface ExtensionAPI {
	/** Writes to the host's log. */
	readonly logger: Logger;
	/** The `@sinclair/typebox` namespace. */
	readonly typebox: any;
	/** The module `@earendil-works/pi-coding-agent` itself. */
	readonly pi: any;
	readonly events: EventBus;

	/** Returns a function that removes the handler. */
	on<Name extends ExtensionEventName>(event: Name, handler: ExtensionHandler<Name>): () => void;
	on(event: string, handler: (event: any, ctx: ExtensionContext) => unknown): () => void;
	registerTool<Schema, Details>(definition: ToolDefinition<Schema, Details>): void;
	registerCommand(name: string, options: CommandOptions): void;
	registerShortcut(
		key: string,
		options: { description?: string; handler(ctx: ExtensionContext): void | Promise<void> },
	): void;
	registerFlag(
		name: string,
		options: { description?: string; type: "boolean" | "string"; default?: boolean | string },
	): void;
	/** `undefined` unless this extension registered the flag. */
	getFlag(name: string): boolean | string | undefined;
	registerMessageRenderer<Details = any>(customType: string, renderer: MessageRenderer<Details>): void;
	registerEntryRenderer<Data = any>(customType: string, renderer: EntryRenderer<Data>): void;
	registerToolRenderer(resolver: (toolName: string, next: () => any) => any): void;
	registerMarkdownTransformer(
		transformer: (markdown: string, context: any) => string,
		options?: { messageTypes?: string[] },
	): void;
	/** (xcsh) */
	registerServiceStatus(contributor: {
		name: string;
		group?: string;
		check(): Promise<{ state: "connected" | "unauthenticated" | "unavailable"; hint?: string }>;
		fix?: { prompt: string; command: string[] };
	}): void;
	/** (xcsh) */
	registerProfileCollector(collector: {
		id: string;
		name: string;
		authoritativeFields?: string[];
		available(): Promise<boolean>;
		collect(): Promise<Record<string, unknown>>;
	}): void;
	/** Calls `sink` with a record of every model request that ends, whoever asked for it. Returns a function that ends this. */
	onLlmTrace(sink: (record: LlmTraceRecord) => void): () => void;
	registerProvider(name: string, config: ProviderConfig): void;
	unregisterProvider(name: string): void;
	/** Runs a program without a shell. */
	exec(command: string, args: string[], options?: ExecOptions): Promise<ExecResult>;
	/** One argument: display name of the extension. Two: label of a session entry. */
	setLabel(label: string): void;
	setLabel(entryId: string, label: string | undefined): void;

	sendMessage<Details = unknown>(
		message: {
			customType: string;
			content: string | Block[];
			display: boolean;
			details?: Details;
			attribution?: "user" | "agent";
		},
		options?: { deliverAs?: "steer" | "followUp" | "nextTurn"; triggerTurn?: boolean },
	): void;
	sendUserMessage(
		content: string | Block[],
		options?: { deliverAs?: "steer" | "followUp"; expandPromptTemplates?: boolean },
	): void;
	/** State of the extension in the session; neither sent to the model nor shown. */
	appendEntry<Data = unknown>(customType: string, data?: Data): void;
	getActiveTools(): string[];
	/** Objects for pi extensions, names for xcsh ones. */
	getAllTools(): (ToolInfo & string)[];
	setActiveTools(names: string[]): Promise<void>;
	getCommands(): SlashCommandInfo[];
	getSettings(): Record<string, unknown>;
	/** False without a credential for the model. */
	setModel(model: Model): Promise<boolean>;
	getThinkingLevel(): ThinkingLevel;
	setThinkingLevel(level: ThinkingLevel): void;
	getSessionName(): string | undefined;
	setSessionName(name: string): Promise<void>;
}

/** (xcsh) The name of the same thing for hooks. */
export type HookAPI = ExtensionAPI;
export type HookContext = ExtensionContext;
