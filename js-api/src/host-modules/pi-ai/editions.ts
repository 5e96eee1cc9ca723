// Run-time names of the oh-my-pi and xcsh editions of the model library, over the one that is here.

import {
	type Api,
	type ApiStreamSimpleFunction,
	type AssistantMessageEventStream,
	getApiProvider,
	getSupportedThinkingLevels,
	type Model,
	registerApiProvider,
	type StreamFunction,
	type StreamOptions,
	unregisterApiProviders,
} from "@earendil-works/pi-ai/compat";

/** xcsh: reasoning efforts, without "off". */
export const Effort = Object.freeze({
	Minimal: "minimal",
	Low: "low",
	Medium: "medium",
	High: "high",
	XHigh: "xhigh",
} as const);
export type Effort = (typeof Effort)[keyof typeof Effort];

/** The efforts that a model accepts; none for a model that does not reason. */
export function getSupportedEfforts(model: Model<Api>): Effort[] {
	const efforts: readonly string[] = Object.values(Effort);
	return getSupportedThinkingLevels(model).filter((level): level is Effort => efforts.includes(level));
}

const custom = new Set<string>();

/**
 * xcsh: registers a protocol under a new id. Ids of built-in protocols are refused.
 * Without `stream`, the simple form serves both.
 */
export function registerCustomApi(
	api: string,
	streamSimple: ApiStreamSimpleFunction,
	sourceId?: string,
	stream?: StreamFunction<Api, StreamOptions>,
): void {
	if (!custom.has(api) && getApiProvider(api as Api) !== undefined) {
		throw new Error(`Cannot register custom API "${api}": it is the id of a built-in API.`);
	}
	custom.add(api);
	registerApiProvider(
		{
			api: api as Api,
			stream:
				stream ?? ((model, context, options): AssistantMessageEventStream => streamSimple(model, context, options)),
			streamSimple,
		},
		sourceId,
	);
}

/** Removes every protocol that was registered with `sourceId`. */
export function unregisterCustomApis(sourceId: string): void {
	unregisterApiProviders(sourceId);
}
