// `stream`, `streamSimple`, `complete` and `completeSimple` as extensions import them (sdk-exports §3): models of a protocol that an extension
// of this isolate registered with `registerProvider` go to its `streamSimple`; protocols that the library knows are the library's; all others
// belong to an extension of another package, which the host reaches. A failure is always a message, never a throw.

import {
	type Api,
	type AssistantMessage,
	type AssistantMessageEvent,
	type AssistantMessageEventStream,
	createAssistantMessageEventStream,
	getApiProvider,
	type complete as libraryComplete,
	type completeSimple as libraryCompleteSimple,
	stream as libraryStream,
	streamSimple as libraryStreamSimple,
	type Model,
} from "@earendil-works/pi-ai/compat";
import { messageOf } from "../../api/errors.ts";
import { currentModelRegistry } from "../../api/model-registry.ts";
import { currentRuntime } from "../../api/runtime.ts";
import { contextFor } from "../../api/stream.ts";

type Context = Parameters<typeof libraryStreamSimple>[1];
type Options = Parameters<typeof libraryStreamSimple>[2];

/** The stream of an extension of this isolate; `undefined` when none registered the model's protocol. */
function ownStream(model: Model<Api>, context: Context, options: Options): AssistantMessageEventStream | undefined {
	for (const record of currentRuntime().records.values()) {
		for (const provider of record.providers.values()) {
			if (provider.api !== model.api || provider.streamSimple === undefined) continue;
			const given = provider.streamSimple(model, contextFor(record.profile, context as never), options ?? {});
			return asEventStream(given as AsyncIterable<AssistantMessageEvent>, model);
		}
	}
	return undefined;
}

/** A stream that is only iterable gets a result. */
function asEventStream(given: AsyncIterable<AssistantMessageEvent>, model: Model<Api>): AssistantMessageEventStream {
	if (typeof (given as Partial<AssistantMessageEventStream>).result === "function") {
		return given as AssistantMessageEventStream;
	}
	const stream = createAssistantMessageEventStream();
	const fail = (text: string) => stream.push({ type: "error", reason: "error", error: failure(model, text) });
	void (async () => {
		try {
			for await (const event of given) {
				stream.push(event);
				if (event.type === "done" || event.type === "error") return;
			}
			fail("stream ended without a done or error event");
		} catch (error) {
			fail(messageOf(error));
		}
	})();
	return stream;
}

function failure(model: Model<Api>, errorMessage: string): AssistantMessage {
	return {
		role: "assistant",
		content: [],
		api: model.api,
		provider: model.provider,
		model: model.id,
		usage: {
			input: 0,
			output: 0,
			cacheRead: 0,
			cacheWrite: 0,
			totalTokens: 0,
			cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
		},
		stopReason: "error",
		errorMessage,
		timestamp: Date.now(),
	};
}

/** The stream of whoever serves the model's protocol. */
function route(library: typeof libraryStreamSimple, model: Model<Api>, context: Context, options: Options) {
	try {
		const own = ownStream(model, context, options);
		if (own !== undefined) return own;
		if (getApiProvider(model.api) !== undefined) return library(model, context, options);
		const plain = options as Record<string, unknown> | undefined;
		return currentModelRegistry().stream(model, context, plain) as AssistantMessageEventStream;
	} catch (error) {
		const failed = createAssistantMessageEventStream();
		failed.push({ type: "error", reason: "error", error: failure(model, messageOf(error)) });
		return failed;
	}
}

export const stream: typeof libraryStream = (model, context, options) =>
	route(libraryStream as typeof libraryStreamSimple, model, context, options as Options);

export const streamSimple: typeof libraryStreamSimple = (model, context, options) =>
	route(libraryStreamSimple, model, context, options);

export const complete: typeof libraryComplete = async (model, context, options) =>
	stream(model, context, options).result();

export const completeSimple: typeof libraryCompleteSimple = async (model, context, options) =>
	streamSimple(model, context, options).result();
