// `stream`, `streamSimple`, `complete` and `completeSimple` as extensions import them: models of a protocol that an extension of this isolate
// registered with `registerProvider` go to its `streamSimple`; all others are the library's.

import {
	type Api,
	type AssistantMessage,
	type AssistantMessageEvent,
	type AssistantMessageEventStream,
	createAssistantMessageEventStream,
	complete as libraryComplete,
	completeSimple as libraryCompleteSimple,
	stream as libraryStream,
	streamSimple as libraryStreamSimple,
	type Model,
} from "@earendil-works/pi-ai/compat";
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
	const fail = (text: string) => {
		const error = failure(model, text);
		stream.push({ type: "error", reason: "error", error });
	};
	void (async () => {
		try {
			for await (const event of given) {
				stream.push(event);
				if (event.type === "done" || event.type === "error") return;
			}
			fail("stream ended without a done or error event");
		} catch (error) {
			fail(error instanceof Error ? error.message : String(error));
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

export const stream: typeof libraryStream = (model, context, options) =>
	ownStream(model, context, options as Options) ?? libraryStream(model, context, options);

export const streamSimple: typeof libraryStreamSimple = (model, context, options) =>
	ownStream(model, context, options) ?? libraryStreamSimple(model, context, options);

export const complete: typeof libraryComplete = async (model, context, options) =>
	ownStream(model, context, options as Options)?.result() ?? libraryComplete(model, context, options);

export const completeSimple: typeof libraryCompleteSimple = async (model, context, options) =>
	ownStream(model, context, options)?.result() ?? libraryCompleteSimple(model, context, options);
