// Runs an extension's `streamSimple` (§7.6): iterates the stream inside the isolate and ships its events in batches. However the stream
// ends, the host gets exactly one terminal event; only a provider that never produced a stream makes the call itself fail.

import { hostCall, hostCallAsync } from "../host.ts";
import type { CallScope } from "./calls.ts";
import { messageOf } from "./errors.ts";
import { describeType, isObjectLike, isRecord, type JsonObject } from "./json.ts";
import { PartialMessageBuilder } from "./partial-message.ts";
import type { Profile, StreamHook } from "./protocol.ts";
import type { Runtime } from "./runtime.ts";
import { StreamEvents } from "./stream-events.ts";
import { whenAborted } from "./when-aborted.ts";

export interface StreamHeader {
	ext: number;
	provider: string;
	callId: number;
	hooks?: StreamHook[];
}

interface StreamRequest {
	model: JsonObject;
	context: { systemPrompt?: string; messages: unknown[]; tools?: unknown[] };
	options?: JsonObject;
}

/** Shortest time between two signs of life of a stream, in milliseconds. */
const ALIVE_INTERVAL = 200;
/** Events shipped in one call at most. */
const BATCH = 64;
/** Microtask turns that a ready stream gets before what is queued is shipped. */
const PATIENCE = 4;
/** Milliseconds that an aborted stream has for ending by itself. */
const ABORT_GRACE = 1000;
/** Milliseconds that a stream which ended without a terminal event has for its `result()`. */
const RESULT_GRACE = 100;

/** xcsh providers read prompt and tools from the context, pi providers from a leading system message. */
export function contextFor(profile: Profile, context: StreamRequest["context"]): unknown {
	if (profile !== "pi") return context;
	const { systemPrompt, tools, messages } = context;
	const first = messages[0];
	if (isRecord(first) && first.role === "system") return { messages };
	const system = {
		role: "system",
		content: systemPrompt ?? "",
		...(tools !== undefined && tools.length > 0 ? { toolsAdded: tools } : {}),
		timestamp: 0,
	};
	return { messages: [system, ...messages] };
}

/** Some clients take their abort signal in the payload, where handlers have no use for it. */
function withoutSignals(payload: unknown): unknown {
	return JSON.parse(
		JSON.stringify(payload, (_key, value) => (value instanceof AbortSignal ? undefined : value)) ?? "null",
	);
}

/** Puts the signals of a payload into the one that replaces it, at the same places. */
function keepSignals(payload: unknown, replacement: unknown): void {
	if (!isRecord(payload) || !isRecord(replacement)) return;
	for (const [key, value] of Object.entries(payload)) {
		if (value instanceof AbortSignal) replacement[key] = value;
		else keepSignals(value, replacement[key]);
	}
}

/** Tells the host that the provider is not silent although no event came; often enough for the shortest limit that makes sense. */
function aliveSignal(callId: number): () => void {
	let last = 0;
	return () => {
		const now = Date.now();
		if (now - last < ALIVE_INTERVAL) return;
		last = now;
		try {
			hostCall("stream.events", { callId, events: [{ type: "alive" }] });
		} catch {
			// Bytes may come after the end of the stream, which the host has closed by then.
		}
	};
}

function callbacks(callId: number, hooks: readonly StreamHook[]): Record<string, unknown> {
	const options: Record<string, unknown> = { onAlive: aliveSignal(callId) };
	if (hooks.includes("payload")) {
		options.onPayload = async (payload: unknown) => {
			const answer = await hostCallAsync("stream.payload", { callId, payload: withoutSignals(payload) });
			if (answer?.payload !== undefined) keepSignals(payload, answer.payload);
			return answer?.payload;
		};
	}
	if (hooks.includes("response")) {
		options.onResponse = (response: { status: number; headers: unknown }) =>
			hostCallAsync("stream.response", { callId, status: response.status, headers: response.headers });
	}
	if (hooks.includes("event")) {
		// Awaited: handlers see the events in order, and before what the host makes of them.
		// A provider that does not wait must not fail because the stream has ended meanwhile.
		options.onProviderStreamEvent = (data: unknown) => hostCallAsync("stream.event", { callId, data }).catch(() => {});
	}
	return options;
}

/** Collects events and hands them to the host in batches, waiting when the host's queue is full. */
class Shipper {
	readonly #callId: number;
	#queue: unknown[] = [];
	#drain: Promise<void> | undefined;

	constructor(callId: number) {
		this.#callId = callId;
	}

	add(event: unknown): void {
		this.#queue.push(event);
		if (this.#queue.length >= BATCH) this.flush();
	}

	flush(): void {
		if (this.#queue.length === 0) return;
		const events = this.#queue;
		this.#queue = [];
		const answer = hostCall("stream.events", { callId: this.#callId, events });
		if (answer?.full) this.#drain = hostCallAsync("stream.drain", { callId: this.#callId });
	}

	/** Resolves when the host has room again. */
	async room(): Promise<void> {
		const drain = this.#drain;
		this.#drain = undefined;
		await drain;
	}
}

function delay(ms: number): { passed: Promise<"late">; cancel: () => void } {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const passed = new Promise<"late">((resolve) => {
		timer = setTimeout(() => resolve("late"), ms);
	});
	return { passed, cancel: () => clearTimeout(timer) };
}

/** Resolves some time after the signal fired, so that a stream which ignores it does not hold the run for ever. */
function abortDeadline(signal: AbortSignal): { passed: Promise<"late">; cancel: () => void } {
	let grace: ReturnType<typeof delay> | undefined;
	let stopWaiting = () => {};
	const passed = new Promise<"late">((resolve) => {
		const onAbort = () => {
			grace = delay(ABORT_GRACE);
			void grace.passed.then(resolve);
		};
		if (signal.aborted) onAbort();
		else stopWaiting = whenAborted(signal, onAbort);
	});
	return {
		passed,
		cancel: () => {
			grace?.cancel();
			stopWaiting();
		},
	};
}

/** Whether something follows the terminal event. A stream that says nothing more, and does not end either, is let be. */
async function goesOn(iterator: AsyncIterator<unknown>): Promise<boolean> {
	const limit = delay(RESULT_GRACE);
	try {
		const next = await Promise.race([iterator.next(), limit.passed]);
		return next !== "late" && !next.done;
	} finally {
		limit.cancel();
	}
}

/** Ships events up to the terminal one, which it answers; `undefined` when there is none. */
async function ship(
	iterator: AsyncIterator<unknown>,
	events: StreamEvents,
	shipper: Shipper,
	signal: AbortSignal,
): Promise<Record<string, unknown> | undefined> {
	const deadline = abortDeadline(signal);
	try {
		for (;;) {
			await shipper.room();
			const next = iterator.next();
			let ready = false;
			const settle = () => {
				ready = true;
			};
			next.then(settle, settle);
			for (let turn = 0; turn < PATIENCE && !ready; turn++) await null;
			if (!ready) shipper.flush();
			const step = ready ? await next : await Promise.race([next, deadline.passed]);
			if (step === "late" || step.done) return undefined;
			const wire = events.translate(step.value);
			if (events.finished) return wire;
			if (wire !== undefined) shipper.add(wire);
		}
	} finally {
		deadline.cancel();
	}
}

/** What a stream that ended without a terminal event says its result is. */
async function lateResult(stream: object): Promise<unknown> {
	const { result } = stream as { result?: () => unknown };
	if (typeof result !== "function") return undefined;
	const limit = delay(RESULT_GRACE);
	try {
		const message = await Promise.race([Promise.resolve(result.call(stream)), limit.passed]);
		return message === "late" ? undefined : message;
	} finally {
		limit.cancel();
	}
}

function asTerminal(message: Record<string, unknown>): Record<string, unknown> {
	const { stopReason } = message;
	return stopReason === "error" || stopReason === "aborted"
		? { type: "error", reason: stopReason, error: message }
		: { type: "done", reason: stopReason ?? "stop", message };
}

export function runStream(runtime: Runtime, header: StreamHeader, payload: string | undefined): unknown {
	const record = runtime.record(header.ext);
	const provider = record.providers.get(header.provider);
	if (provider?.streamSimple === undefined) {
		throw new Error(`Provider "${header.provider}" of ${record.path} has no streamSimple`);
	}
	const request = JSON.parse(payload ?? "{}") as StreamRequest;
	return runtime.calls.run(header.callId, async (scope: CallScope) => {
		const options = { ...request.options, signal: scope.signal, ...callbacks(header.callId, header.hooks ?? []) };
		const context = contextFor(record.profile, request.context);
		const stream = await provider.streamSimple?.(request.model, context, options);
		if (!isObjectLike(stream) || typeof (stream as AsyncIterable<unknown>)[Symbol.asyncIterator] !== "function") {
			throw new TypeError(
				`Provider "${header.provider}": streamSimple must return an event stream, got ${describeType(stream)}`,
			);
		}
		await pump(stream as AsyncIterable<unknown>, header, request.model, scope.signal);
	});
}

async function pump(
	stream: AsyncIterable<unknown>,
	header: StreamHeader,
	model: JsonObject,
	signal: AbortSignal,
): Promise<void> {
	const events = new StreamEvents();
	const shipper = new Shipper(header.callId);
	const iterator = stream[Symbol.asyncIterator]();
	let failure = "stream ended without a done or error event";
	let terminal: Record<string, unknown> | undefined;
	try {
		terminal = await ship(iterator, events, shipper, signal);
		if (terminal !== undefined && (await goesOn(iterator))) {
			terminal = undefined;
			failure = "an event came after the end of the stream";
		} else if (terminal === undefined && !signal.aborted) {
			const message = await lateResult(stream);
			if (isRecord(message)) terminal = events.translate(asTerminal(message));
		}
	} catch (error) {
		terminal = undefined;
		failure = messageOf(error);
	}
	if (terminal !== undefined) shipper.add(terminal);
	else {
		// Lets a generator run its cleanup; nobody waits for one that never returns.
		void Promise.resolve(iterator.return?.()).catch(() => {});
		const reason = signal.aborted ? "aborted" : "error";
		const text = signal.aborted
			? "Request was aborted"
			: `Provider "${String(model.provider ?? header.provider)}": ${failure}`;
		const base = new PartialMessageBuilder(model);
		const error = { ...base.failed(reason, text), ...events.partial, stopReason: reason, errorMessage: text };
		shipper.add({ type: "error", reason, error });
	}
	shipper.flush();
}
