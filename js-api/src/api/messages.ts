// `sendMessage` and `sendUserMessage` (§3): shape the message and hand it over. When and how it is delivered is the host's matter.

import { hostCall } from "../host.ts";
import { describeType, isRecord } from "./json.ts";
import type { ExtensionRecord } from "./record.ts";
import type { Runtime } from "./runtime.ts";

function optionsOf(method: string, options: unknown): Record<string, unknown> | undefined {
	if (options === undefined || options === null) return undefined;
	if (!isRecord(options)) throw new TypeError(`${method}: options must be an object, got ${describeType(options)}`);
	return options;
}

function contentOf(method: string, content: unknown): unknown {
	// Untyped extensions deliver null; it counts as no content.
	if (content === null || content === undefined) return [];
	if (typeof content === "string" || Array.isArray(content)) return content;
	throw new TypeError(`${method}: content must be a string or an array of blocks, got ${describeType(content)}`);
}

export function sendMessage(runtime: Runtime, record: ExtensionRecord, message: unknown, given: unknown): void {
	if (!isRecord(message)) throw new TypeError(`sendMessage: message must be an object, got ${describeType(message)}`);
	if (typeof message.customType !== "string") throw new TypeError("sendMessage: message.customType must be a string");
	const { customType, display, details, attribution } = message;
	const wire: Record<string, unknown> = {
		customType,
		content: contentOf("sendMessage", message.content),
		display: display === undefined ? true : Boolean(display),
	};
	if (details !== undefined) wire.details = details;
	if (attribution !== undefined) wire.attribution = attribution;
	const options = optionsOf("sendMessage", given);
	const callId = runtime.calls.current;
	hostCall("sendMessage", {
		ext: record.ext,
		message: wire,
		...(callId === undefined ? {} : { callId }),
		...(options === undefined ? {} : { options }),
	});
}

export function sendUserMessage(runtime: Runtime, record: ExtensionRecord, content: unknown, given: unknown): void {
	const options = optionsOf("sendUserMessage", given);
	const callId = runtime.calls.current;
	hostCall("sendUserMessage", {
		ext: record.ext,
		content: contentOf("sendUserMessage", content),
		...(callId === undefined ? {} : { callId }),
		...(options === undefined ? {} : { options }),
	});
}
