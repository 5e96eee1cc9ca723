// Logic of the `read` tool over replaceable operations (agent-loop §10).

import { Buffer } from "node:buffer";
import { DEFAULT_MAX_BYTES, formatSize, type TruncationResult, truncateHead } from "../truncate.ts";
import { resolveToolPath } from "./paths.ts";
import {
	type ReadOperations,
	type ReadToolDetails,
	textResult,
	throwIfAborted,
	type ToolResult,
	type ToolRun,
} from "./types.ts";

export interface ReadParams {
	path: string;
	/** 1-based. */
	offset?: number;
	limit?: number;
}

async function load(operations: ReadOperations, path: string, signal: AbortSignal | undefined): Promise<Buffer> {
	if (operations.createReadStream === undefined) return operations.readFile(path);
	const chunks: Uint8Array[] = [];
	for await (const chunk of operations.createReadStream(path, signal === undefined ? {} : { signal })) {
		throwIfAborted(signal);
		chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}

async function readImage(
	operations: ReadOperations,
	path: string,
	mimeType: string,
): Promise<ToolResult<ReadToolDetails>> {
	const data = (await operations.readFile(path)).toString("base64");
	const note = `Read image file [${mimeType}]`;
	const image = { type: "image", data, mimeType } as const;
	return { content: [{ type: "text", text: note }, image], structuredContent: { ...image, note } };
}

interface Selection {
	/** 0-based index of the first line. */
	start: number;
	total: number;
	/** Lines the caller asked for, when it set a limit. */
	wanted: number | undefined;
	truncation: TruncationResult;
}

function notice({ start, total, wanted, truncation }: Selection, path: string, firstLine: string): string {
	const { content } = truncation;
	const first = start + 1;
	if (truncation.firstLineExceedsLimit) {
		const size = formatSize(Buffer.byteLength(firstLine, "utf8"));
		const limit = formatSize(DEFAULT_MAX_BYTES);
		return `[Line ${first} is ${size}, exceeds ${limit} limit. Use bash: sed -n '${first}p' ${path} | head -c ${DEFAULT_MAX_BYTES}]`;
	}
	if (truncation.truncated) {
		const last = start + truncation.outputLines;
		const why = truncation.truncatedBy === "bytes" ? ` (${formatSize(DEFAULT_MAX_BYTES)} limit)` : "";
		return `${content}\n\n[Showing lines ${first}-${last} of ${total}${why}. Use offset=${last + 1} to continue.]`;
	}
	if (wanted !== undefined && start + wanted < total) {
		const left = total - (start + wanted);
		return `${content}\n\n[${left} more lines in file. Use offset=${start + wanted + 1} to continue.]`;
	}
	return content;
}

export async function runRead(
	cwd: string,
	operations: ReadOperations,
	{ params, signal }: ToolRun<ReadParams, ReadToolDetails>,
): Promise<ToolResult<ReadToolDetails>> {
	throwIfAborted(signal);
	const path = resolveToolPath(params.path, cwd);
	await operations.access(path);
	throwIfAborted(signal);
	const mimeType = await operations.detectImageMimeType?.(path);
	if (mimeType) return readImage(operations, path, mimeType);
	const text = (await load(operations, path, signal)).toString("utf8");
	throwIfAborted(signal);

	const lines = text.split("\n");
	const start = params.offset === undefined ? 0 : Math.max(0, Math.floor(params.offset) - 1);
	if (start >= lines.length) {
		throw new Error(`Offset ${params.offset} is beyond end of file (${lines.length} lines total)`);
	}
	const wanted = params.limit === undefined ? undefined : Math.max(1, Math.floor(params.limit));
	const selected = lines.slice(start, wanted === undefined ? undefined : start + wanted);
	const truncation = truncateHead(selected.join("\n"));
	const shown = notice({ start, total: lines.length, wanted, truncation }, params.path, selected[0] ?? "");
	return {
		...textResult<ReadToolDetails>(shown, truncation.truncated ? { truncation } : undefined),
		structuredContent: shown,
	};
}
