// A second `registerProvider` of the same name by the same extension (§7.6): it changes what it defines, the rest stays.

import { isRecord } from "./json.ts";
import type { ProviderConfig } from "./types.ts";

/** All members that are defined, inherited ones included; methods keep the object that they belong to. */
function definedMembers(config: ProviderConfig): Record<string, unknown> {
	const members: Record<string, unknown> = {};
	for (const name in config) {
		const value: unknown = config[name];
		if (value === undefined) continue;
		members[name] = typeof value === "function" ? value.bind(config) : value;
	}
	return members;
}

function merged(before: unknown, change: unknown): unknown {
	return isRecord(before) && isRecord(change) ? { ...before, ...change } : (change ?? before);
}

/** Models that stay while their provider moves: at the new endpoint, with the new headers over their own. */
function moved(models: unknown[], change: Record<string, unknown>): unknown[] {
	return models.map((model) => {
		if (!isRecord(model)) return model;
		const { baseUrl, headers, ...rest } = model;
		return {
			...rest,
			...(baseUrl === undefined || change.baseUrl !== undefined ? {} : { baseUrl }),
			...(headers === undefined ? {} : { headers: merged(headers, change.headers) }),
		};
	});
}

export function updatedProvider(before: ProviderConfig, change: ProviderConfig): ProviderConfig {
	const old = definedMembers(before);
	const given = definedMembers(change);
	// A stream function serves the protocol that it was registered with.
	if (given.api !== undefined && given.api !== old.api) delete old.streamSimple;
	const updated = { ...old, ...given };
	if (given.headers !== undefined) updated.headers = merged(old.headers, given.headers);
	if (given.models === undefined && Array.isArray(old.models)) updated.models = moved(old.models, given);
	return updated as ProviderConfig;
}
