// The built-in tools as extensions make them: `createReadTool(cwd, options?)` and `createReadToolDefinition(cwd, options?)` for each.
// Without replacements a call runs on the host; with them the tool's logic runs here, over what the caller gave.

import type { TSchema } from "typebox";
import { type BashParams, type BashToolOptions, runBash } from "./bash.ts";
import {
	type AgentTool,
	type BuiltinToolDefinition,
	makeDefinition,
	makeTool,
	type ToolDescription,
} from "./define.ts";
import { type EditParams, prepareEditArguments, runEdit } from "./edit.ts";
import { type FindParams, runFind } from "./find.ts";
import { type GrepParams, runGrep } from "./grep.ts";
import { runOnHost } from "./host-run.ts";
import { createLocalBashOperations } from "./local-bash.ts";
import { type LsParams, runLs } from "./ls.ts";
import { type ReadParams, runRead } from "./read.ts";
import * as schemas from "./schemas.ts";
import type {
	BashToolDetails,
	EditOperations,
	EditToolDetails,
	FindOperations,
	FindToolDetails,
	GrepOperations,
	GrepToolDetails,
	LsOperations,
	LsToolDetails,
	ReadOperations,
	ReadToolDetails,
	ToolResult,
	ToolRun,
	WriteOperations,
} from "./types.ts";
import { runWrite, type WriteParams } from "./write.ts";

export interface ToolOptions<Operations> {
	operations?: Operations;
}
export type ReadToolOptions = ToolOptions<ReadOperations> & { autoResizeImages?: boolean };
export type WriteToolOptions = ToolOptions<WriteOperations>;
export type EditToolOptions = ToolOptions<EditOperations>;
export type FindToolOptions = ToolOptions<FindOperations>;
export type LsToolOptions = ToolOptions<LsOperations>;
export type GrepToolOptions = ToolOptions<GrepOperations>;

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

function readLogic(cwd: string, { operations, ...rest }: ReadToolOptions = {}): Maker<ReadParams, ReadToolDetails> {
	return (run) => (operations === undefined ? runOnHost("read", cwd, rest, run) : runRead(cwd, operations, run));
}

function writeLogic(cwd: string, { operations }: WriteToolOptions = {}): Maker<WriteParams, undefined> {
	return (run) => (operations === undefined ? runOnHost("write", cwd, {}, run) : runWrite(cwd, operations, run));
}

function editLogic(cwd: string, { operations }: EditToolOptions = {}): Maker<EditParams, EditToolDetails> {
	return (run) => {
		if (operations !== undefined) return runEdit(cwd, operations, run);
		return runOnHost("edit", cwd, {}, { ...run, params: prepareEditArguments(run.params) as EditParams });
	};
}

function bashLogic(cwd: string, options: BashToolOptions = {}): Maker<BashParams, BashToolDetails> {
	const { operations, spawnHook, ...rest } = options;
	// A hook is a function and stays here, so the command does, too.
	if (operations === undefined && spawnHook === undefined) return (run) => runOnHost("bash", cwd, rest, run);
	const { shellPath } = options;
	const shell = operations ?? createLocalBashOperations(shellPath === undefined ? {} : { shellPath });
	return (run) => runBash(cwd, shell, options, run);
}

function findLogic(cwd: string, { operations }: FindToolOptions = {}): Maker<FindParams, FindToolDetails> {
	return (run) => (operations === undefined ? runOnHost("find", cwd, {}, run) : runFind(cwd, operations, run));
}

function lsLogic(cwd: string, { operations }: LsToolOptions = {}): Maker<LsParams, LsToolDetails> {
	return (run) => (operations === undefined ? runOnHost("ls", cwd, {}, run) : runLs(cwd, operations, run));
}

function grepLogic(cwd: string, { operations }: GrepToolOptions = {}): Maker<GrepParams, GrepToolDetails> {
	return (run) => runGrep(cwd, operations, run);
}

export const createReadTool = (cwd: string, options?: ReadToolOptions): AgentTool<ReadParams, ReadToolDetails> =>
	makeTool(DESCRIPTIONS.read, readLogic(cwd, options));
export const createReadToolDefinition = (
	cwd: string,
	options?: ReadToolOptions,
): BuiltinToolDefinition<ReadParams, ReadToolDetails> => makeDefinition(DESCRIPTIONS.read, readLogic(cwd, options));

export const createWriteTool = (cwd: string, options?: WriteToolOptions): AgentTool<WriteParams, undefined> =>
	makeTool(DESCRIPTIONS.write, writeLogic(cwd, options));
export const createWriteToolDefinition = (
	cwd: string,
	options?: WriteToolOptions,
): BuiltinToolDefinition<WriteParams, undefined> => makeDefinition(DESCRIPTIONS.write, writeLogic(cwd, options));

export const createEditTool = (cwd: string, options?: EditToolOptions): AgentTool<EditParams, EditToolDetails> =>
	makeTool(DESCRIPTIONS.edit, editLogic(cwd, options));
export const createEditToolDefinition = (
	cwd: string,
	options?: EditToolOptions,
): BuiltinToolDefinition<EditParams, EditToolDetails> => makeDefinition(DESCRIPTIONS.edit, editLogic(cwd, options));

export const createBashTool = (cwd: string, options?: BashToolOptions): AgentTool<BashParams, BashToolDetails> =>
	makeTool(DESCRIPTIONS.bash, bashLogic(cwd, options));
export const createBashToolDefinition = (
	cwd: string,
	options?: BashToolOptions,
): BuiltinToolDefinition<BashParams, BashToolDetails> => makeDefinition(DESCRIPTIONS.bash, bashLogic(cwd, options));

export const createGrepTool = (cwd: string, options?: GrepToolOptions): AgentTool<GrepParams, GrepToolDetails> =>
	makeTool(DESCRIPTIONS.grep, grepLogic(cwd, options));
export const createGrepToolDefinition = (
	cwd: string,
	options?: GrepToolOptions,
): BuiltinToolDefinition<GrepParams, GrepToolDetails> => makeDefinition(DESCRIPTIONS.grep, grepLogic(cwd, options));

export const createFindTool = (cwd: string, options?: FindToolOptions): AgentTool<FindParams, FindToolDetails> =>
	makeTool(DESCRIPTIONS.find, findLogic(cwd, options));
export const createFindToolDefinition = (
	cwd: string,
	options?: FindToolOptions,
): BuiltinToolDefinition<FindParams, FindToolDetails> => makeDefinition(DESCRIPTIONS.find, findLogic(cwd, options));

export const createLsTool = (cwd: string, options?: LsToolOptions): AgentTool<LsParams, LsToolDetails> =>
	makeTool(DESCRIPTIONS.ls, lsLogic(cwd, options));
export const createLsToolDefinition = (
	cwd: string,
	options?: LsToolOptions,
): BuiltinToolDefinition<LsParams, LsToolDetails> => makeDefinition(DESCRIPTIONS.ls, lsLogic(cwd, options));

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
