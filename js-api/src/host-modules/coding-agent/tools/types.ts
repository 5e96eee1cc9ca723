// Shapes of the built-in tools: what the host hands out and the operations that callers may replace (sdk-exports §2.1).

import type { Buffer } from "node:buffer";
import type { ImageContent, TextContent } from "@earendil-works/pi-ai";
import type { TruncationResult } from "../truncate.ts";

export type Block = TextContent | ImageContent;

export interface ToolResult<Details = unknown> {
	content: Block[];
	details?: Details;
	isError?: boolean;
	structuredContent?: unknown;
}

export type OnUpdate<Details = unknown> = (partial: ToolResult<Details>) => void;

/** What a tool's logic gets for one call. */
export interface ToolRun<Params, Details> {
	params: Params;
	signal: AbortSignal | undefined;
	onUpdate: OnUpdate<Details> | undefined;
}

export interface ReadParams {
	path: string;
	/** 1-based. */
	offset?: number;
	limit?: number;
}

export interface WriteParams {
	path: string;
	content: string;
}

export interface EditParams {
	path: string;
	edits: { oldText: string; newText: string }[];
}

export interface BashParams {
	command: string;
	/** Seconds. */
	timeout?: number;
}

export interface FindParams {
	pattern: string;
	path?: string;
	limit?: number;
}

export interface LsParams {
	path?: string;
	limit?: number;
}

export interface GrepParams {
	pattern: string;
	path?: string;
	glob?: string;
	ignoreCase?: boolean;
	literal?: boolean;
	context?: number;
	limit?: number;
}

export interface BashSpawnContext {
	command: string;
	cwd: string;
	env: NodeJS.ProcessEnv;
}

export type BashSpawnHook = (context: BashSpawnContext) => BashSpawnContext;

export interface BashOperations {
	/**
	 * Runs a command and hands its output over as it comes. Resolves with the exit code; `null` counts as failed. `timeout` is in seconds.
	 * Rejects with the message `aborted` or `timeout:<seconds>` when it had to kill the command.
	 */
	exec(
		command: string,
		cwd: string,
		options: { onData: (data: Buffer) => void; signal?: AbortSignal; timeout?: number; env?: NodeJS.ProcessEnv },
	): Promise<{ exitCode: number | null }>;
}

export interface ReadOperations {
	readFile(absolutePath: string): Promise<Buffer>;
	/** Rejects when the file cannot be read. */
	access(absolutePath: string): Promise<void>;
	detectImageMimeType?(absolutePath: string): Promise<string | null | undefined>;
	createReadStream?(absolutePath: string, options: { signal?: AbortSignal }): AsyncIterable<Uint8Array>;
}

export interface WriteOperations {
	writeFile(absolutePath: string, content: string): Promise<void>;
	mkdir(directory: string): Promise<void>;
}

export interface EditOperations {
	readFile(absolutePath: string): Promise<Buffer>;
	writeFile(absolutePath: string, content: string): Promise<void>;
	/** Rejects when the file cannot be read or written. */
	access(absolutePath: string): Promise<void>;
}

export interface FindOperations {
	exists(absolutePath: string): Promise<boolean> | boolean;
	glob(pattern: string, cwd: string, options: { ignore: string[]; limit: number }): Promise<string[]> | string[];
}

export interface LsOperations {
	exists(absolutePath: string): Promise<boolean> | boolean;
	stat(absolutePath: string): Promise<{ isDirectory(): boolean }> | { isDirectory(): boolean };
	readdir(absolutePath: string): Promise<string[]> | string[];
}

export interface GrepOperations {
	/** Throws when the path does not exist. */
	isDirectory(absolutePath: string): Promise<boolean> | boolean;
	/** Ignored; accepted because callers pass it. */
	readFile?(absolutePath: string): Promise<string> | string;
}

export interface BashToolDetails {
	truncation?: TruncationResult;
	fullOutputPath?: string;
}

export interface ReadToolDetails {
	truncation?: TruncationResult;
	imageUnsupportedByModel?: string;
}

export interface EditToolDetails {
	/** Numbered lines for display. */
	diff: string;
	/** Unified diff. */
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
