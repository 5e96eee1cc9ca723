// The context that tools receive (§4.2): the base context plus nested tool calls.

import { hostCall, hostCallAsync } from "../host.ts";
import { contextEnv, createContext, extend } from "./context.ts";
import { messageOf } from "./errors.ts";
import { insideTurns } from "./file-turns.ts";
import type { ToolInfo } from "./protocol.ts";
import type { NestedToolOutcome } from "./protocol-methods.ts";
import type { ExtensionRecord } from "./record.ts";
import type { Runtime } from "./runtime.ts";
import { whenAborted } from "./when-aborted.ts";

export interface NestedCallOptions {
	signal?: AbortSignal;
	onUpdate?: (partial: unknown) => void;
}

function failed(name: string, args: unknown, error: unknown): NestedToolOutcome {
	return {
		toolCall: { type: "toolCall", name, arguments: args },
		result: { content: [{ type: "text", text: messageOf(error) }], details: {} },
		isError: true,
	};
}

export function createToolContext(runtime: Runtime, record: ExtensionRecord, callId: number) {
	const env = contextEnv(runtime, record, callId);

	/** Calls another tool. Passes the same hooks as a call by the model, and never rejects. */
	async function executeTool(name: string, args: unknown, options?: NestedCallOptions): Promise<NestedToolOutcome> {
		const nestedId = runtime.nextId();
		const { signal, onUpdate } = options ?? {};
		const handle =
			typeof onUpdate === "function" ? runtime.callbacks.add(([partial]) => void onUpdate(partial)) : undefined;
		const cancel = () =>
			hostCall("executeTool.cancel", {
				nestedId,
				...(signal?.reason === undefined ? {} : { reason: messageOf(signal.reason) }),
			});
		let stopWaiting = () => {};
		try {
			env.guard();
			if (typeof name !== "string") throw new TypeError("executeTool: name must be a string");
			if (signal?.aborted) throw signal.reason ?? new Error("Operation aborted");
			const pending = hostCallAsync("executeTool", {
				callId,
				nestedId,
				name,
				args: args ?? {},
				...insideTurns(),
				...(handle === undefined ? {} : { onUpdate: handle }),
			});
			if (signal) stopWaiting = whenAborted(signal, cancel);
			return await pending;
		} catch (error) {
			return failed(String(name), args, error);
		} finally {
			stopWaiting();
			runtime.callbacks.release([handle]);
		}
	}

	return extend(createContext(env), {
		/** Tools that `executeTool` can call. */
		get tools(): ToolInfo[] {
			env.guard();
			const active = new Set(runtime.state.read().activeTools);
			return hostCall("allTools").filter(({ name, exposure }) => {
				if (exposure === "codemode" || exposure === "deferred") return true;
				return exposure !== "model-only" && active.has(name);
			});
		},
		executeTool,
	});
}
