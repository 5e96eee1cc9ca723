// Events of a session as its subscribers see them: the host sends deltas, and the message so far is put together here.

import { isRecord } from "../../../api/json.ts";
import { PartialMessageBuilder } from "../../../api/partial-message.ts";

export interface AgentSessionEvent {
	type: string;
	// biome-ignore lint/suspicious/noExplicitAny: members depend on the type, and extensions compile against the real package's union.
	[member: string]: any;
}

/** Adds `message` and `assistantMessageEvent.partial` to updates. One reader for the events of one session, in order. */
export class EventReader {
	#partial: PartialMessageBuilder | undefined;

	read(event: AgentSessionEvent): AgentSessionEvent {
		if (event.type === "message_start" && event.message?.role === "assistant") {
			const { api, provider, model } = event.message;
			this.#partial = new PartialMessageBuilder({ api, provider, id: model });
			this.#partial.message.timestamp = event.message.timestamp;
			return event;
		}
		if (event.type !== "message_update" || !isRecord(event.assistantMessageEvent)) return event;
		// A subscriber that came in the middle of a message sees it from there on.
		this.#partial ??= new PartialMessageBuilder(undefined);
		const builder = this.#partial;
		if (event.usage !== undefined) builder.message.usage = event.usage;
		const assistantMessageEvent = builder.apply(event.assistantMessageEvent);
		return { ...event, message: builder.message, assistantMessageEvent };
	}
}
