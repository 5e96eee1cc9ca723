// Rebuilds the growing assistant message from delta events, because only deltas cross between host and isolate.

import { isRecord } from "./json.ts";
import { partialObject } from "./partial-json.ts";

interface Block {
	type: string;
	[member: string]: unknown;
}

export interface PartialMessage {
	role: "assistant";
	content: Block[];
	api: unknown;
	provider: unknown;
	model: unknown;
	usage: unknown;
	stopReason: string;
	timestamp: number;
	[member: string]: unknown;
}

function noUsage(): unknown {
	return {
		input: 0,
		output: 0,
		cacheRead: 0,
		cacheWrite: 0,
		totalTokens: 0,
		cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
	};
}

const APPEND = Symbol("append");

interface StreamingCall extends Block {
	[APPEND](delta: string): void;
}

/** A tool call whose `arguments` show what has arrived; parsed when somebody looks, not with each delta. */
function streamingCall(id: unknown, name: unknown): StreamingCall {
	let text = "";
	let seen = 0;
	let value: Record<string, unknown> = {};
	return {
		type: "toolCall",
		id,
		name,
		get arguments() {
			if (seen !== text.length) {
				value = partialObject(text);
				seen = text.length;
			}
			return value;
		},
		[APPEND](delta: string) {
			text += delta;
		},
	};
}

/** One message under construction. `apply` answers the event with `partial` added; the same object each time. */
export class PartialMessageBuilder {
	readonly message: PartialMessage;

	constructor(model: unknown) {
		const info = isRecord(model) ? model : {};
		this.message = {
			role: "assistant",
			content: [],
			api: info.api,
			provider: info.provider,
			model: info.id,
			usage: noUsage(),
			stopReason: "stop",
			timestamp: Date.now(),
		};
	}

	apply(event: Record<string, unknown>): Record<string, unknown> {
		if (event.usage !== undefined) this.message.usage = event.usage;
		const index = typeof event.contentIndex === "number" ? event.contentIndex : -1;
		const block = this.message.content[index];
		const delta = typeof event.delta === "string" ? event.delta : "";
		switch (event.type) {
			case "text_start":
				this.message.content[index] = { type: "text", text: "" };
				break;
			case "thinking_start":
				this.message.content[index] = { type: "thinking", thinking: "" };
				break;
			case "toolcall_start":
				this.message.content[index] = streamingCall(event.id ?? "", event.toolName ?? "");
				break;
			case "toolcall_delta":
				(block as StreamingCall | undefined)?.[APPEND]?.(delta);
				break;
			case "text_delta":
				if (block !== undefined) block.text = String(block.text ?? "") + delta;
				break;
			case "thinking_delta":
				if (block !== undefined) block.thinking = String(block.thinking ?? "") + delta;
				break;
			case "text_end":
				if (block !== undefined && typeof event.content === "string") block.text = event.content;
				break;
			case "thinking_end":
				if (block !== undefined && typeof event.content === "string") block.thinking = event.content;
				break;
			case "toolcall_end":
				if (isRecord(event.toolCall)) this.message.content[index] = event.toolCall as Block;
				break;
			default:
				break;
		}
		if (event.type === "done" || event.type === "error") return event;
		return { ...event, partial: this.message };
	}

	/** The message as a failure, with what has arrived so far. */
	failed(reason: "error" | "aborted", errorMessage: string): PartialMessage {
		return { ...this.message, content: this.message.content.filter(Boolean), stopReason: reason, errorMessage };
	}
}
