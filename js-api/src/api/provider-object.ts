// The two call forms of `registerProvider` (§2.1): a name with a configuration, or pi's provider object. Both become a name and a
// configuration that reads its members through the object, so that getters and methods keep their `this`.

import { isObjectLike } from "./json.ts";

interface ProviderObject {
	id?: unknown;
	name?: unknown;
	baseUrl?: unknown;
	headers?: unknown;
	getModels?: () => unknown;
	refreshModels?: (context: unknown) => unknown;
	streamSimple?: (model: unknown, context: unknown, options: unknown) => unknown;
	auth?: { oauth?: unknown; apiKey?: unknown };
}

export function adaptProvider(nameOrProvider: unknown, config: unknown): { name: string; config: unknown } {
	if (!isObjectLike(nameOrProvider)) return { name: nameOrProvider as string, config };
	const provider = nameOrProvider as ProviderObject;
	const id = provider.id ?? provider.name;
	if (typeof id !== "string" || id === "") {
		throw new TypeError("registerProvider: a provider object must have a non-empty string id");
	}
	const adapted: Record<string, unknown> = {};
	for (const member of ["name", "baseUrl", "headers"] as const) {
		if (provider[member] !== undefined) adapted[member] = provider[member];
	}
	if (typeof provider.getModels === "function") adapted.models = provider.getModels() ?? [];
	if (typeof provider.streamSimple === "function") {
		adapted.streamSimple = (model: unknown, context: unknown, options: unknown) =>
			provider.streamSimple?.(model, context, options);
	}
	if (typeof provider.refreshModels === "function") {
		adapted.refreshModels = async (context: unknown) => {
			await provider.refreshModels?.(context);
			return provider.getModels?.() ?? [];
		};
	}
	if (isObjectLike(provider.auth?.oauth)) adapted.oauth = provider.auth.oauth;
	return { name: id, config: adapted };
}
