// Shapes of what extensions hand to the API, as far as this side relies on them. Types only; `types/` holds what authors see.

import type { FlagValue } from "./protocol.ts";

export type EventHandler = (event: unknown, ctx: unknown) => unknown;

/** `registerTool` argument. Read through property access, so that inherited members and getters count. */
export interface ToolDefinition {
	name: string;
	label?: string;
	description?: string;
	parameters: object;
	execute: (
		toolCallId: string,
		params: unknown,
		signal: AbortSignal | undefined,
		onUpdate: (partial: unknown) => void,
		ctx: unknown,
	) => unknown;
	prepareArguments?: (raw: unknown) => unknown;
	renderCall?: (...args: unknown[]) => unknown;
	renderResult?: (...args: unknown[]) => unknown;
	onSession?: (event: unknown, ctx: unknown) => unknown;
	[member: string]: unknown;
}

export interface CommandDefinition {
	description?: string;
	getArgumentCompletions?: (prefix: string) => unknown;
	handler: (args: string, ctx: unknown) => unknown;
}

export interface ShortcutDefinition {
	description?: string;
	handler: (ctx: unknown) => unknown;
}

export interface FlagOptions {
	description?: string;
	type: "boolean" | "string";
	default?: FlagValue;
}

export type MessageRenderer = (message: unknown, options: unknown, theme: unknown) => unknown;
export type EntryRenderer = (entry: unknown, options: unknown, theme: unknown) => unknown;
export type ToolRendererResolver = (toolName: string, next: () => unknown) => unknown;
export type MarkdownTransformer = (markdown: string, context: unknown) => unknown;

export interface OAuthConfig {
	name?: string;
	login?: (callbacks: unknown) => unknown;
	refreshToken?: (credentials: unknown, signal?: AbortSignal) => unknown;
	getApiKey?: (credentials: unknown) => unknown;
	modifyModels?: (models: unknown, credentials: unknown) => unknown;
	[member: string]: unknown;
}

export interface ProviderConfig {
	streamSimple?: (model: unknown, context: unknown, options: unknown) => unknown;
	oauth?: OAuthConfig;
	refreshModels?: (context: unknown) => unknown;
	[member: string]: unknown;
}

export interface ServiceStatus {
	name: string;
	group?: string;
	check: () => unknown;
	fix?: unknown;
}

export interface ProfileCollector {
	id: string;
	name: string;
	authoritativeFields?: unknown;
	available: () => unknown;
	collect: () => unknown;
}

/** A component as the terminal library defines it. */
export interface Component {
	render(width: number): string[];
	handleInput?(data: string): void;
	invalidate?(): void;
	dispose?(): void;
}

/** The namespaces that `host-modules` gives to the API object. */
export interface Namespaces {
	/** The coding-agent module; value of `pi.pi`. */
	pi?: object;
	/** The same for extensions of oh-my-pi and xcsh. */
	xcsh?: object;
	typebox?: object;
	zod?: object;
	arktype?: object;
	/** Makes the event streams that `modelRegistry.stream` returns; the model library's own class, so that `instanceof` holds. */
	createEventStream?: () => EventStreamLike;
}

export interface EventStreamLike extends AsyncIterable<unknown> {
	push(event: unknown): void;
	end(result?: unknown): void;
	result(): Promise<unknown>;
}
