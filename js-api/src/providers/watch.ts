// Sees the HTTP responses of a built-in provider, so that `onResponse` is called for every one of them, refusals included and whatever the
// protocol; a refusal's status and `retry-after` reach the host in the failed message, and bytes that are no event count as a sign of life.
// Changes nothing on the wire.

import type { AssistantMessageEvent, SimpleStreamOptions } from "@earendil-works/pi-ai/compat";

/** Protocols whose client takes a `fetch` of ours; the others call `onResponse` themselves. */
const FETCHING = new Set<string>([
	"anthropic-messages",
	"azure-openai-responses",
	"google-generative-ai",
	"openai-completions",
	"openai-responses",
]);

/** Milliseconds that a refused request shall wait, if the response says so. */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
	const exact = Number.parseFloat(headers.get("retry-after-ms") ?? "");
	if (Number.isFinite(exact)) return Math.max(0, Math.ceil(exact));
	const text = headers.get("retry-after");
	if (text === null) return undefined;
	const ms = /^\s*[\d.]+\s*$/.test(text) ? Number.parseFloat(text) * 1000 : Date.parse(text) - now;
	return Number.isFinite(ms) ? Math.max(0, Math.ceil(ms)) : undefined;
}

interface Refusal {
	status: number;
	/** Milliseconds. */
	wait: number | undefined;
}

/** Puts into a failed message what the host goes by: some clients only say that the body is no JSON. */
function name(error: { errorMessage?: string }, { status, wait }: Refusal): void {
	const text = error.errorMessage ?? "";
	// As a word of its own: 500 is not in "15000 tokens".
	if (!new RegExp(`\\b${status}\\b`).test(text))
		error.errorMessage = text === "" ? `HTTP ${status}` : `HTTP ${status}: ${text}`;
	if (wait !== undefined) Object.assign(error, { retryAfterMs: wait });
}

/** The same response; every piece of its body is a sign of life. */
function listenedTo(response: Response, onAlive: () => void): Response {
	if (response.body === null) return response;
	const { status, statusText, headers } = response;
	const listener = new TransformStream<Uint8Array, Uint8Array>({
		transform(chunk, controller) {
			onAlive();
			controller.enqueue(chunk);
		},
	});
	return new Response(response.body.pipeThrough(listener), { status, statusText, headers });
}

export async function* watchedStream(
	api: string,
	options: SimpleStreamOptions,
	start: (options: SimpleStreamOptions) => AsyncIterable<AssistantMessageEvent>,
): AsyncGenerator<AssistantMessageEvent> {
	if (!FETCHING.has(api)) {
		yield* start(options);
		return;
	}
	const { onResponse, onAlive, ...rest } = options as SimpleStreamOptions & { onAlive?: () => void };
	let refusal: Refusal | undefined;
	const watch = async (...request: Parameters<typeof globalThis.fetch>): Promise<Response> => {
		// A client that asks again by itself may then fail without any response.
		refusal = undefined;
		const response = await globalThis.fetch(...request);
		const { ok, status, headers } = response;
		refusal = ok ? undefined : { status, wait: retryAfterMs(headers, Date.now()) };
		// The model is there for callbacks of the library's users; the host's has no use for it.
		await onResponse?.({ status, headers: Object.fromEntries(headers) }, undefined as never);
		return ok && onAlive !== undefined ? listenedTo(response, onAlive) : response;
	};
	for await (const event of start({ ...rest, fetch: watch as typeof globalThis.fetch })) {
		if (event.type === "error" && refusal !== undefined) name(event.error, refusal);
		yield event;
	}
}
