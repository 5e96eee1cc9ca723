// The built-in tools as extensions make them: `createReadTool(cwd, options?)` and `createReadToolDefinition(cwd, options?)` for each.
// A call always runs on the host; what the caller replaced is called back from there.

import type { TSchema } from "typebox";
import {
	type AgentTool,
	type BuiltinToolDefinition,
	makeDefinition,
	makeTool,
	type ToolDescription,
} from "./define.ts";
import { prepareEditArguments } from "./edit-arguments.ts";
import { runOnHost } from "./host-run.ts";
import { fileOperations, shellParts } from "./operations.ts";
import * as schemas from "./schemas.ts";
import type {
	BashOperations,
	BashParams,
	BashSpawnHook,
	BashToolDetails,
	EditOperations,
	EditParams,
	EditToolDetails,
	FindOperations,
	FindParams,
	FindToolDetails,
	GrepOperations,
	GrepParams,
	GrepToolDetails,
	LsOperations,
	LsParams,
	LsToolDetails,
	ReadOperations,
	ReadParams,
	ReadToolDetails,
	ToolResult,
	ToolRun,
	WriteOperations,
	WriteParams,
} from "./types.ts";

export interface ToolOptions<Operations> {
	operations?: Operations;
}
export type ReadToolOptions = ToolOptions<ReadOperations> & { autoResizeImages?: boolean };
export type WriteToolOptions = ToolOptions<WriteOperations>;
export type EditToolOptions = ToolOptions<EditOperations>;
export type FindToolOptions = ToolOptions<FindOperations>;
export type LsToolOptions = ToolOptions<LsOperations>;
export type GrepToolOptions = ToolOptions<GrepOperations>;

export interface BashToolOptions extends ToolOptions<BashOperations> {
	/** Put on a line of its own before each command. */
	commandPrefix?: string;
	shellPath?: string;
	/** May change command, directory and environment just before the start. */
	spawnHook?: BashSpawnHook;
	/** Give the command `PI_*` variables about the session (default true). */
	exposeSessionEnvironment?: boolean;
}

const DESCRIPTIONS = {
	read: {
		name: "read",
		description:
			"Read a file. Text comes back up to 2000 lines or 50 KB, whichever is less; use offset and limit for the rest. Images (jpg, png, gif, webp, bmp) come back as images.",
		parameters: schemas.readSchema,
		promptSnippet: "Read files",
		promptGuidelines: ["Read files with read rather than with shell commands."],
	},
	write: {
		name: "write",
		description: "Write a file: it is created or overwritten, and missing directories are made.",
		parameters: schemas.writeSchema,
		promptSnippet: "Create or overwrite files",
		promptGuidelines: ["Use write for new files and complete rewrites only."],
	},
	edit: {
		name: "edit",
		description:
			"Replace texts in a file. Every oldText must occur exactly once in the file as it is before the call, and the replaced texts must not overlap.",
		parameters: schemas.editSchema,
		promptSnippet: "Replace exact texts in a file, several at once",
		promptGuidelines: ["Put all changes of one file into a single edit call, each with a short unique oldText."],
		prepareArguments: prepareEditArguments,
	},
	bash: {
		name: "bash",
		description:
			"Run a shell command in the working directory. Returns the end of its output, up to 2000 lines or 50 KB; longer output is kept in a file whose path is given. Optionally with a timeout in seconds.",
		parameters: schemas.bashSchema,
		promptSnippet: "Run shell commands",
		promptGuidelines: [],
	},
	grep: {
		name: "grep",
		description:
			"Search file contents for a pattern. Ignore files are honoured. Returns matching lines with paths and line numbers, 100 matches by default, up to 50 KB.",
		parameters: schemas.grepSchema,
		promptSnippet: "Search file contents",
		promptGuidelines: [],
	},
	find: {
		name: "find",
		description:
			"Find files by a glob pattern. Ignore files are honoured. Returns paths relative to the search directory, 1000 by default, up to 50 KB.",
		parameters: schemas.findSchema,
		promptSnippet: "Find files by name",
		promptGuidelines: [],
	},
	ls: {
		name: "ls",
		description:
			"List a directory in alphabetical order, directories with a final slash, hidden entries included; 500 entries by default, up to 50 KB.",
		parameters: schemas.lsSchema,
		promptSnippet: "List directories",
		promptGuidelines: [],
	},
} satisfies Record<string, ToolDescription<TSchema>>;

type Maker<Params, Details> = (run: ToolRun<Params, Details>) => Promise<ToolResult<Details>>;

/** A tool over files. */
function fileTool<Params, Details>(
	name: string,
	cwd: string,
	{ operations, ...rest }: ToolOptions<object> = {},
): Maker<Params, Details> {
	return (run) => runOnHost(name, cwd, rest, run, operations && fileOperations(operations, run.signal));
}

function bashLogic(cwd: string, options: BashToolOptions = {}): Maker<BashParams, BashToolDetails> {
	const { operations, spawnHook, ...rest } = options;
	return (run) => runOnHost("bash", cwd, rest, run, shellParts(operations, spawnHook));
}

export const createReadTool = (cwd: string, options?: ReadToolOptions): AgentTool<ReadParams, ReadToolDetails> =>
	makeTool(DESCRIPTIONS.read, fileTool("read", cwd, options));
export const createReadToolDefinition = (
	cwd: string,
	options?: ReadToolOptions,
): BuiltinToolDefinition<ReadParams, ReadToolDetails> =>
	makeDefinition(DESCRIPTIONS.read, fileTool("read", cwd, options));

export const createWriteTool = (cwd: string, options?: WriteToolOptions): AgentTool<WriteParams, undefined> =>
	makeTool(DESCRIPTIONS.write, fileTool("write", cwd, options));
export const createWriteToolDefinition = (
	cwd: string,
	options?: WriteToolOptions,
): BuiltinToolDefinition<WriteParams, undefined> => makeDefinition(DESCRIPTIONS.write, fileTool("write", cwd, options));

export const createEditTool = (cwd: string, options?: EditToolOptions): AgentTool<EditParams, EditToolDetails> =>
	makeTool(DESCRIPTIONS.edit, fileTool("edit", cwd, options));
export const createEditToolDefinition = (
	cwd: string,
	options?: EditToolOptions,
): BuiltinToolDefinition<EditParams, EditToolDetails> =>
	makeDefinition(DESCRIPTIONS.edit, fileTool("edit", cwd, options));

export const createBashTool = (cwd: string, options?: BashToolOptions): AgentTool<BashParams, BashToolDetails> =>
	makeTool(DESCRIPTIONS.bash, bashLogic(cwd, options));
export const createBashToolDefinition = (
	cwd: string,
	options?: BashToolOptions,
): BuiltinToolDefinition<BashParams, BashToolDetails> => makeDefinition(DESCRIPTIONS.bash, bashLogic(cwd, options));

export const createGrepTool = (cwd: string, options?: GrepToolOptions): AgentTool<GrepParams, GrepToolDetails> =>
	makeTool(DESCRIPTIONS.grep, fileTool("grep", cwd, options));
export const createGrepToolDefinition = (
	cwd: string,
	options?: GrepToolOptions,
): BuiltinToolDefinition<GrepParams, GrepToolDetails> =>
	makeDefinition(DESCRIPTIONS.grep, fileTool("grep", cwd, options));

export const createFindTool = (cwd: string, options?: FindToolOptions): AgentTool<FindParams, FindToolDetails> =>
	makeTool(DESCRIPTIONS.find, fileTool("find", cwd, options));
export const createFindToolDefinition = (
	cwd: string,
	options?: FindToolOptions,
): BuiltinToolDefinition<FindParams, FindToolDetails> =>
	makeDefinition(DESCRIPTIONS.find, fileTool("find", cwd, options));

export const createLsTool = (cwd: string, options?: LsToolOptions): AgentTool<LsParams, LsToolDetails> =>
	makeTool(DESCRIPTIONS.ls, fileTool("ls", cwd, options));
export const createLsToolDefinition = (
	cwd: string,
	options?: LsToolOptions,
): BuiltinToolDefinition<LsParams, LsToolDetails> => makeDefinition(DESCRIPTIONS.ls, fileTool("ls", cwd, options));

/** Options for each tool of a set. */
export interface ToolSetOptions {
	read?: ReadToolOptions;
	write?: WriteToolOptions;
	edit?: EditToolOptions;
	bash?: BashToolOptions;
	grep?: GrepToolOptions;
	find?: FindToolOptions;
	ls?: LsToolOptions;
}

/** The tools that change things: read, bash, edit, write. */
export function createCodingTools(cwd: string, options: ToolSetOptions = {}) {
	return [
		createReadTool(cwd, options.read),
		createBashTool(cwd, options.bash),
		createEditTool(cwd, options.edit),
		createWriteTool(cwd, options.write),
	];
}

/** The tools that only look: read, grep, find, ls. */
export function createReadOnlyTools(cwd: string, options: ToolSetOptions = {}) {
	return [
		createReadTool(cwd, options.read),
		createGrepTool(cwd, options.grep),
		createFindTool(cwd, options.find),
		createLsTool(cwd, options.ls),
	];
}
