// Checks the events of a provider's stream and turns them into what crosses: deltas, never `partial` (§7.6, bridge protocol).
// One instance for one stream.

import { describeType, isRecord, toJsonValue } from "./json.ts";

type BlockKind = "text" | "thinking" | "toolcall";

/** An event that does not follow the contract. */
export class StreamEventError extends TypeError {
	constructor(message: string) {
		super(message);
		this.name = "StreamEventError";
	}
}

const BLOCK_EVENT = /^(text|thinking|toolcall)_(start|delta|end)$/;

export class StreamEvents {
	/** The message so far, as the provider sees it. */
	partial: Record<string, unknown> | undefined;
	/** Whether the terminal event has passed. */
	finished = false;
	readonly #open = new Map<number, BlockKind>();
	#usage = "";

	/** The event in wire form; `undefined` for one that does not cross. Throws {@link StreamEventError}. */
	translate(event: unknown): Record<string, unknown> | undefined {
		if (!isRecord(event)) throw new StreamEventError(`stream event must be an object, got ${describeType(event)}`);
		const { type } = event;
		if (typeof type !== "string") throw new StreamEventError("stream event has no type");
		if (isRecord(event.partial)) this.partial = event.partial;
		if (type === "done" || type === "error") return this.#terminal(event, type);
		if (type === "start") return this.#withUsage({ type });
		const block = BLOCK_EVENT.exec(type);
		// Event types of newer relatives carry nothing that the host draws.
		if (block === null) return undefined;
		return this.#withUsage(this.#block(event, block[1] as BlockKind, block[2] as "start" | "delta" | "end"));
	}

	#block(event: Record<string, unknown>, kind: BlockKind, step: "start" | "delta" | "end"): Record<string, unknown> {
		const { type, contentIndex } = event;
		if (typeof contentIndex !== "number" || !Number.isInteger(contentIndex) || contentIndex < 0) {
			throw new StreamEventError(`${type}: contentIndex must be a whole number, got ${describeType(contentIndex)}`);
		}
		const open = this.#open.get(contentIndex);
		const wire: Record<string, unknown> = { type, contentIndex };
		if (step === "start") {
			if (open !== undefined) throw new StreamEventError(`${type}: block ${contentIndex} is already open (${open})`);
			this.#open.set(contentIndex, kind);
			if (kind === "toolcall") this.#describeCall(event, contentIndex, wire);
			return wire;
		}
		if (open !== kind) {
			throw new StreamEventError(
				`${type}: block ${contentIndex} is ${open === undefined ? "not open" : `open as ${open}`}`,
			);
		}
		if (step === "delta") {
			if (typeof event.delta !== "string") {
				throw new StreamEventError(`${type}: delta must be a string, got ${describeType(event.delta)}`);
			}
			wire.delta = event.delta;
			return wire;
		}
		this.#open.delete(contentIndex);
		const block = this.#partialBlock(contentIndex);
		if (kind === "toolcall") {
			const call = isRecord(event.toolCall) ? event.toolCall : block;
			if (!isRecord(call)) throw new StreamEventError(`${type}: toolCall must be an object`);
			wire.toolCall = toJsonValue(call, type as string);
			return wire;
		}
		const text = typeof event.content === "string" ? event.content : block?.[kind];
		if (typeof text === "string") wire.content = text;
		return wire;
	}

	#partialBlock(index: number): Record<string, unknown> | undefined {
		const content = this.partial?.content;
		const block: unknown = Array.isArray(content) ? content[index] : undefined;
		return isRecord(block) ? block : undefined;
	}

	#describeCall(event: Record<string, unknown>, index: number, wire: Record<string, unknown>): void {
		const block = this.#partialBlock(index);
		const id = event.id ?? block?.id;
		const toolName = event.toolName ?? block?.name;
		if (typeof id === "string") wire.id = id;
		if (typeof toolName === "string") wire.toolName = toolName;
	}

	#withUsage(wire: Record<string, unknown>): Record<string, unknown> {
		const usage = this.partial?.usage;
		if (!isRecord(usage)) return wire;
		const text = JSON.stringify(usage);
		if (text === this.#usage) return wire;
		this.#usage = text;
		// A copy: the provider goes on counting in its own object.
		return { ...wire, usage: JSON.parse(text) };
	}

	#terminal(event: Record<string, unknown>, type: "done" | "error"): Record<string, unknown> {
		const member = type === "done" ? "message" : "error";
		const message = event[member];
		if (!isRecord(message) || !Array.isArray(message.content)) {
			throw new StreamEventError(`${type}: ${member} must be an assistant message with content`);
		}
		const fallback = type === "done" ? "stop" : "error";
		const reason = typeof event.reason === "string" ? event.reason : (message.stopReason ?? fallback);
		this.finished = true;
		return { type, reason, [member]: toJsonValue(message, `${type} event`) };
	}
}
