// Tools that the client runs for the model (docs/rpc.md, "Tools of the client").

import type { Block, ToolCall } from "../../types/messages.js";
import { PierError, asError } from "./errors.js";
import type { Post } from "./desk.js";

export interface HostToolDeclaration {
	name: string;
	label?: string;
	/** What the model reads about it. */
	description: string;
	/** JSON Schema of an object. */
	parameters: object;
	/** Not offered to the model unless it is named explicitly. */
	hidden?: boolean;
}

export interface HostToolResult {
	/** What the model reads. */
	content: Block[];
	/** For user interfaces; the model never sees it. */
	details?: unknown;
	isError?: boolean;
}

/** One call. */
export interface HostToolContext {
	toolCallId: string;
	/** Fires when the run is aborted, or Pier ended; what the function gives then is ignored. */
	signal: AbortSignal;
	/** Shows progress. */
	update(partial: string | HostToolResult): void;
}

export interface HostTool extends HostToolDeclaration {
	/** Runs it. A failure is told to the model by its message. Text alone is a result of one text block. */
	execute(
		args: ToolCall["arguments"],
		context: HostToolContext,
	): string | HostToolResult | Promise<string | HostToolResult>;
}

export interface HostToolCall {
	type: "host_tool_call";
	id: string;
	toolCallId: string;
	toolName: string;
	arguments: ToolCall["arguments"];
}
export interface HostToolCancel {
	type: "host_tool_cancel";
	id: string;
	/** Id of the call. */
	targetId: string;
}

export class HostTools {
	readonly #post: Post;
	#tools: ReadonlyMap<string, HostTool> = new Map();
	readonly #calls = new Map<string, AbortController>();

	constructor(post: Post) {
		this.#post = post;
	}

	/** Tells Pier about a new set of tools. While it has not answered, calls of the old and of the new ones may come. */
	async replace<T>(tools: readonly HostTool[], declare: (tools: HostToolDeclaration[]) => Promise<T>): Promise<T> {
		const before = this.#tools;
		const after = new Map(tools.map((tool) => [tool.name.trim(), tool]));
		this.#tools = new Map([...before, ...after]);
		let kept: ReadonlyMap<string, HostTool> = before;
		try {
			const answer = await declare(tools.map(declaration));
			kept = after;
			return answer;
		} finally {
			this.#tools = kept;
		}
	}

	async call(call: HostToolCall): Promise<void> {
		const controller = new AbortController();
		this.#calls.set(call.id, controller);
		const { signal } = controller;
		const send = (type: string, members: object) => {
			if (!signal.aborted) this.#post.post({ type, id: call.id, ...members });
		};
		const finish = ({ isError = false, ...result }: HostToolResult) => send("host_tool_result", { result, isError });
		try {
			const tool = this.#tools.get(call.toolName);
			if (tool === undefined) throw new PierError(`The client has no tool "${call.toolName}" any more`);
			const result = await tool.execute(call.arguments, {
				toolCallId: call.toolCallId,
				signal,
				update: (partial) => send("host_tool_update", { partialResult: asResult(partial) }),
			});
			finish(asResult(result));
		} catch (error) {
			// Also for a result that has no JSON form.
			finish({ content: [{ type: "text", text: asError(error).message }], isError: true });
		}
		this.#calls.delete(call.id);
	}

	cancel({ targetId }: HostToolCancel): void {
		this.#calls.get(targetId)?.abort(new PierError("The call was aborted"));
	}

	/** Pier is gone. */
	end(reason: Error): void {
		for (const call of this.#calls.values()) call.abort(reason);
	}
}

function declaration({ execute: _execute, ...declared }: HostTool): HostToolDeclaration {
	return declared;
}

function asResult(result: string | HostToolResult): HostToolResult {
	return typeof result === "string" ? { content: [{ type: "text", text: result }] } : result;
}
