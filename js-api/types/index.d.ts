// Types for authors of extensions. In an extension:
//
//     import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
//
// At run time that name means the host whatever is installed. For an editor, either install the real package, or map the name to this file in
// `tsconfig.json`:
//
//     { "compilerOptions": { "paths": { "@earendil-works/pi-coding-agent": ["./node_modules/@pier/js-api/types/index.d.ts"] } } }
//
// The values below are those that extensions use most; the module has more.

import type { AgentMessage, Message } from "./messages.js";
import type {
	AgentTool,
	BashOperations,
	EditOperations,
	FindOperations,
	LsOperations,
	ReadOperations,
	ToolDefinition,
	TruncationResult,
	WriteOperations,
} from "./tools.js";

export type * from "./api.js";
export type * from "./context.js";
export type * from "./events.js";
export type * from "./messages.js";
export type * from "./tools.js";
export type * from "./ui.js";

/** Version of the host. */
export declare const VERSION: string;
/** Name of the host's directory in projects and the home directory, such as `.pi`. */
export declare const CONFIG_DIR_NAME: string;
/** Absolute path of the user's agent directory. */
export declare function getAgentDir(): string;

/** 51200 bytes and 2000 lines: what a tool result keeps. */
export declare const DEFAULT_MAX_BYTES: number;
export declare const DEFAULT_MAX_LINES: number;
export declare function truncateHead(
	text: string,
	options?: { maxLines?: number; maxBytes?: number },
): TruncationResult;
export declare function truncateTail(
	text: string,
	options?: { maxLines?: number; maxBytes?: number },
): TruncationResult;
export declare function truncateLine(line: string, maxChars?: number): { text: string; wasTruncated: boolean };
export declare function formatSize(bytes: number): string;

/** The definition itself, with its argument types inferred. */
export declare function defineTool<T extends ToolDefinition>(definition: T): T;
export declare function isToolCallEventType<Name extends string, E extends { toolName: string }>(
	toolName: Name,
	event: E,
): event is E & { toolName: Name };

export declare function createReadTool(cwd: string, options?: { operations?: ReadOperations }): AgentTool;
export declare function createWriteTool(cwd: string, options?: { operations?: WriteOperations }): AgentTool;
export declare function createEditTool(cwd: string, options?: { operations?: EditOperations }): AgentTool;
export declare function createFindTool(cwd: string, options?: { operations?: FindOperations }): AgentTool;
export declare function createLsTool(cwd: string, options?: { operations?: LsOperations }): AgentTool;
export declare function createGrepTool(cwd: string, options?: object): AgentTool;
export declare function createBashTool(
	cwd: string,
	options?: { operations?: BashOperations; commandPrefix?: string; shellPath?: string },
): AgentTool;
export declare function createLocalBashOperations(options?: { shellPath?: string }): BashOperations;
/** One writer at a time for each file. */
export declare function withFileMutationQueue<T>(path: string, fn: () => Promise<T>): Promise<T>;

/** What a model gets for the messages of a session. */
export declare function convertToLlm(messages: readonly AgentMessage[]): Message[];
/** A conversation as text, for summaries. */
export declare function serializeConversation(messages: readonly Message[]): string;
export declare function parseFrontmatter<T extends Record<string, unknown> = Record<string, unknown>>(
	text: string,
): { frontmatter: T; body: string };
/** Coloured lines of code. */
export declare function highlightCode(code: string, language?: string): string[];
export declare function getLanguageFromPath(path: string): string | undefined;
/** Keys of an action with a description, in the theme's colours. */
export declare function keyHint(binding: string, description: string): string;
export declare function rawKeyHint(key: string, description: string): string;

/** Thrown by methods that act on the session while the extension is still loading. */
export declare class ExtensionRuntimeNotInitializedError extends Error {}
