// Sees the HTTP responses of a built-in provider, so that `onResponse` is called for every one of them, refusals included and whatever the
// protocol, and a refusal's `retry-after` reaches the host as `retryAfterMs` of the failed message. Changes nothing on the wire.

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
	if (Number.isFinite(exact)) return Math.max(0, exact);
	const text = headers.get("retry-after");
	if (text === null) return undefined;
	const ms = /^\s*[\d.]+\s*$/.test(text) ? Number.parseFloat(text) * 1000 : Date.parse(text) - now;
	return Number.isFinite(ms) ? Math.max(0, Math.ceil(ms)) : undefined;
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
	const { onResponse, ...rest } = options;
	let wait: number | undefined;
	const watch = async (...request: Parameters<typeof globalThis.fetch>): Promise<Response> => {
		const response = await globalThis.fetch(...request);
		wait = response.ok ? undefined : retryAfterMs(response.headers, Date.now());
		const { status, headers } = response;
		// The model is there for callbacks of the library's users; the host's has no use for it.
		await onResponse?.({ status, headers: Object.fromEntries(headers) }, undefined as never);
		return response;
	};
	for await (const event of start({ ...rest, fetch: watch as typeof globalThis.fetch })) {
		if (event.type === "error" && wait !== undefined) Object.assign(event.error, { retryAfterMs: wait });
		yield event;
	}
}
