// Logic of the `edit` tool over replaceable operations (agent-loop §10).

import { withFileMutationQueue } from "../mutation-queue.ts";
import { generateDiffString, generateUnifiedPatch } from "./edit-diff.ts";
import { applyEdits, type Edit } from "./edit-match.ts";
import { closeText, openText } from "./line-ends.ts";
import { resolveToolPath } from "./paths.ts";
import {
	type EditOperations,
	type EditToolDetails,
	textResult,
	throwIfAborted,
	type ToolResult,
	type ToolRun,
} from "./types.ts";

export interface EditParams {
	path: string;
	edits: Edit[];
}

function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Other spellings that models use: `edits` as JSON text or as one object, and `oldText`/`newText` beside `path`. */
export function prepareEditArguments(raw: unknown): unknown {
	if (!isRecord(raw)) return raw;
	const { oldText, newText, ...rest } = raw;
	let edits: unknown = rest.edits;
	if (typeof edits === "string") {
		try {
			edits = JSON.parse(edits);
		} catch {
			return raw;
		}
	}
	if (isRecord(edits)) edits = [edits];
	if (typeof oldText === "string" && typeof newText === "string") {
		edits = [...(Array.isArray(edits) ? edits : []), { oldText, newText }];
	}
	return edits === undefined ? raw : { ...rest, edits };
}

function errorCode(error: unknown): string {
	const code = (error as { code?: unknown })?.code;
	return typeof code === "string" ? `Error code: ${code}` : error instanceof Error ? error.message : String(error);
}

export async function runEdit(
	cwd: string,
	operations: EditOperations,
	{ params: raw, signal }: ToolRun<EditParams, EditToolDetails>,
): Promise<ToolResult<EditToolDetails>> {
	const params = prepareEditArguments(raw) as EditParams;
	if (!Array.isArray(params.edits) || params.edits.length === 0) {
		throw new Error("Edit tool input is invalid. edits must contain at least one replacement.");
	}
	const path = resolveToolPath(params.path, cwd);
	return withFileMutationQueue(path, async () => {
		throwIfAborted(signal);
		try {
			await operations.access(path);
		} catch (error) {
			throw new Error(`Could not edit file: ${params.path}. ${errorCode(error)}.`, { cause: error });
		}
		throwIfAborted(signal);
		const file = openText((await operations.readFile(path)).toString("utf8"));
		throwIfAborted(signal);
		const after = applyEdits(file.text, params.edits, params.path);
		throwIfAborted(signal);
		await operations.writeFile(path, closeText(file, after));
		const { diff, firstChangedLine } = generateDiffString(file.text, after);
		return textResult<EditToolDetails>(`Successfully replaced ${params.edits.length} block(s) in ${params.path}.`, {
			diff,
			patch: generateUnifiedPatch(params.path, file.text, after),
			...(firstChangedLine === undefined ? {} : { firstChangedLine }),
		});
	});
}
