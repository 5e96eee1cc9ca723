// Runs registered tools (§6.3, §6.4): signal, updates, and a result in the one form the host accepts.

import { hostCall } from "../host.ts";
import { contextEnv, createContext } from "./context.ts";
import { toError } from "./errors.ts";
import { describeType, isRecord, toJsonValue } from "./json.ts";
import type { ExecuteToolHeader } from "./protocol.ts";
import type { ExtensionRecord } from "./record.ts";
import type { Runtime } from "./runtime.ts";
import { createToolContext } from "./tool-context.ts";
import type { ToolDefinition } from "./types.ts";

function toolOf(record: ExtensionRecord, name: string): ToolDefinition {
	const tool = record.tools.get(name);
	if (tool === undefined) throw new Error(`Tool ${name} not found`);
	return tool;
}

function parse(payload: string | undefined): unknown {
	return payload === undefined ? {} : JSON.parse(payload);
}

/**
 * A result or partial result in wire form. `content` becomes a list of blocks (a bare string is one text block, `null` is none);
 * `details` keeps what JSON keeps.
 */
export function normalizeResult(tool: string, result: unknown): Record<string, unknown> {
	if (typeof result === "string") return { content: [{ type: "text", text: result }] };
	if (!isRecord(result)) {
		throw new TypeError(`Tool "${tool}" must return an object with content, got ${describeType(result)}`);
	}
	const { content } = result;
	let blocks: unknown;
	if (typeof content === "string") blocks = [{ type: "text", text: content }];
	else if (content === null || content === undefined) blocks = [];
	else if (Array.isArray(content)) blocks = content;
	else throw new TypeError(`Tool "${tool}": content must be an array of blocks, got ${describeType(content)}`);
	const json = toJsonValue({ ...result, content: blocks }, `result of tool "${tool}"`);
	return isRecord(json) ? json : { content: [] };
}

export function executeTool(runtime: Runtime, header: ExecuteToolHeader, payload: string | undefined): unknown {
	const record = runtime.record(header.ext);
	const tool = toolOf(record, header.tool);
	return runTool(runtime, tool, header, payload, () => createToolContext(runtime, record, header.callId));
}

/** Runs a tool whoever registered it. */
export function runTool(
	runtime: Runtime,
	tool: ToolDefinition,
	header: ExecuteToolHeader,
	payload: string | undefined,
	context: () => unknown,
): unknown {
	return runtime.calls.run(header.callId, async (scope) => {
		let settled = false;
		const onUpdate = (partial: unknown): void => {
			// Late updates are dropped (§6.3).
			if (settled) return;
			hostCall("tool.update", { callId: header.callId, partial: normalizeResult(header.tool, partial) });
		};
		try {
			const result = await tool.execute(
				header.toolCallId,
				parse(payload),
				header.noSignal ? undefined : scope.signal,
				onUpdate,
				context(),
			);
			const wire = normalizeResult(header.tool, result);
			runtime.rememberDetails(header.toolCallId, isRecord(result) ? result.details : undefined);
			return wire;
		} catch (thrown) {
			throw toError(thrown);
		} finally {
			settled = true;
		}
	});
}

/** `prepareArguments` of a definition; what it does not answer stays as it is. */
export async function prepared(tool: ToolDefinition, payload: string | undefined): Promise<unknown> {
	const raw = parse(payload);
	return tool.prepareArguments === undefined ? raw : ((await tool.prepareArguments(raw)) ?? raw);
}

export function prepareArguments(
	runtime: Runtime,
	header: { ext: number; tool: string },
	payload: string | undefined,
): Promise<unknown> {
	return prepared(toolOf(runtime.record(header.ext), header.tool), payload);
}

/** Calls the definition's `onSession` (§6.6). */
export function toolSession(
	runtime: Runtime,
	header: { ext: number; tool: string; callId: number },
	payload: string | undefined,
): unknown {
	const record = runtime.record(header.ext);
	const tool = toolOf(record, header.tool);
	return runtime.calls.run(header.callId, async () => {
		await tool.onSession?.(parse(payload), createContext(contextEnv(runtime, record, header.callId)));
	});
}
