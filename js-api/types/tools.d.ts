// Tools: what an extension registers, and what comes back from one.

import type { ExtensionContext } from "./context.js";
import type { Block, ToolResultMessage } from "./messages.js";
import type { Component, Theme } from "./ui.js";

/** The static type of a TypeBox schema, without depending on either version of the library. */
export type StaticOf<Schema> = Schema extends { static: infer T } ? T : Schema extends { "~static": infer T } ? T : any;

export interface ToolResult<Details = unknown> {
	/** What the model reads. */
	content: Block[];
	/** For renderers and for the extension itself; the model never sees it. */
	details?: Details;
	isError?: boolean;
	/** (pi) End the run after this call. */
	terminate?: boolean;
	structuredContent?: unknown;
	/** (xcsh) It worked and warns; a `tool_result` handler that changes anything takes it away. */
	isWarning?: boolean;
}

export type AgentToolResult<Details = unknown> = ToolResult<Details>;
export type AgentToolUpdateCallback<Details = unknown> = (partial: ToolResult<Details>) => void;
export type ToolExecutionMode = "sequential" | "parallel";

export interface ToolRenderOptions {
	expanded: boolean;
	isPartial: boolean;
	spinnerFrame?: number;
}

/** (pi) Last argument of the renderers. */
export interface ToolRenderContext<Args = any, State = any> {
	args: Args;
	toolCallId: string;
	/** Shared by both renderers of one call. */
	state: State;
	lastComponent: Component | undefined;
	cwd: string;
	isPartial: boolean;
	expanded: boolean;
	isError: boolean;
	executionStarted: boolean;
	argsComplete: boolean;
	invalidate(): void;
}

export interface ExtensionToolContext extends ExtensionContext {
	/** (pi) Runs another tool through the same hooks. Never rejects. */
	executeTool(
		name: string,
		args: Record<string, unknown>,
		options?: { signal?: AbortSignal; onUpdate?: AgentToolUpdateCallback },
	): Promise<{ toolCall: unknown; result: ToolResult; isError: boolean; durationMs?: number }>;
}

export interface ToolDefinition<Schema = any, Details = any> {
	/** Unique for the model: letters, digits, `_` and `-`, at most 64. */
	name: string;
	label?: string;
	description: string;
	/** A TypeBox schema or plain JSON Schema of an object. */
	parameters: Schema;
	/** One line for the system prompt while the tool is active. */
	promptSnippet?: string;
	promptGuidelines?: string[];
	executionMode?: ToolExecutionMode;
	/** Registered, but not offered until `setActiveTools` names it: (pi) `defaultActive: false`. */
	defaultInactive?: boolean;
	defaultActive?: boolean;
	hidden?: boolean;
	/** Repairs arguments before they are validated. */
	prepareArguments?(raw: unknown): unknown;
	/** Throw to report an error; the message is what the model reads. */
	execute(
		toolCallId: string,
		params: StaticOf<Schema>,
		signal: AbortSignal | undefined,
		onUpdate: AgentToolUpdateCallback<Details> | undefined,
		ctx: ExtensionToolContext,
	): Promise<ToolResult<Details>> | ToolResult<Details>;
	/** (pi) `(args, theme, context)`; (xcsh) `(args, options, theme)`. The host passes objects that serve both. */
	renderCall?(
		args: StaticOf<Schema>,
		themeOrOptions: Theme & ToolRenderOptions,
		contextOrTheme: any,
	): Component | undefined;
	renderResult?(
		result: ToolResult<Details>,
		options: ToolRenderOptions,
		theme: Theme,
		context?: any,
	): Component | undefined;
	onSession?(
		event: { reason: "start" | "switch" | "branch" | "tree" | "shutdown"; previousSessionFile?: string },
		ctx: ExtensionContext,
	): void | Promise<void>;
}

export interface ToolInfo {
	name: string;
	description: string;
	parameters: unknown;
	sourceInfo?: unknown;
}

export interface TruncationResult {
	content: string;
	truncated: boolean;
	truncatedBy: "lines" | "bytes" | null;
	totalLines: number;
	totalBytes: number;
	outputLines: number;
	outputBytes: number;
	lastLinePartial: boolean;
	firstLineExceedsLimit: boolean;
	maxLines: number;
	maxBytes: number;
}

export interface BashToolDetails {
	truncation?: TruncationResult;
	fullOutputPath?: string;
}
export interface ReadToolDetails {
	truncation?: TruncationResult;
}
export interface EditToolDetails {
	diff: string;
	patch: string;
	firstChangedLine?: number;
}
export interface GrepToolDetails {
	truncation?: TruncationResult;
	matchLimitReached?: number;
	linesTruncated?: boolean;
}
export interface FindToolDetails {
	truncation?: TruncationResult;
	resultLimitReached?: number;
}
export interface LsToolDetails {
	truncation?: TruncationResult;
	entryLimitReached?: number;
}

export interface BashOperations {
	/** `timeout` is in seconds; the exit code `null` counts as failed. */
	exec(
		command: string,
		cwd: string,
		options: {
			onData: (data: Buffer) => void;
			signal?: AbortSignal;
			timeout?: number;
			env?: NodeJS.ProcessEnv;
		},
	): Promise<{ exitCode: number | null }>;
}
export interface ReadOperations {
	readFile(path: string): Promise<Buffer>;
	access(path: string): Promise<void>;
	detectImageMimeType?(path: string): Promise<string | null | undefined>;
}
export interface WriteOperations {
	writeFile(path: string, content: string): Promise<void>;
	mkdir(directory: string): Promise<void>;
}
export interface EditOperations {
	readFile(path: string): Promise<Buffer>;
	writeFile(path: string, content: string): Promise<void>;
	access(path: string): Promise<void>;
}
export interface FindOperations {
	exists(path: string): Promise<boolean> | boolean;
	glob(pattern: string, cwd: string, options: { ignore: string[]; limit: number }): Promise<string[]> | string[];
}
export interface LsOperations {
	exists(path: string): Promise<boolean> | boolean;
	stat(path: string): Promise<{ isDirectory(): boolean }> | { isDirectory(): boolean };
	readdir(path: string): Promise<string[]> | string[];
}

/** A built-in tool, made by `createReadTool(cwd)` and the like. */
export interface AgentTool<Params = any, Details = any> {
	name: string;
	label: string;
	description: string;
	parameters: unknown;
	execute(
		toolCallId: string,
		params: Params,
		signal?: AbortSignal,
		onUpdate?: AgentToolUpdateCallback<Details>,
	): Promise<ToolResult<Details>>;
}

export type { ToolResultMessage };
