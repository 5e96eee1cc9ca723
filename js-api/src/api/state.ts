// Host state that synchronous getters read. Cached by the host's version number, so that a getter costs one small call.
// Must never be written from this side: effects go through host calls and come back with the next version.

import { hostCall } from "../host.ts";
import type { HostState, ModelInfo, ProviderInfo } from "./protocol.ts";

export class StateCache {
	#state: HostState | undefined;
	#version: number | undefined;
	#models: { version: number; all?: ModelInfo[]; available?: ModelInfo[]; providers?: ProviderInfo[] } | undefined;

	/** Current state. */
	read(): HostState {
		const version = hostCall("stateVersion");
		if (this.#state === undefined || this.#version !== version) {
			this.#state = hostCall("state");
			this.#version = version;
		}
		return this.#state;
	}

	#modelCache(): { version: number; all?: ModelInfo[]; available?: ModelInfo[]; providers?: ProviderInfo[] } {
		const version = hostCall("stateVersion");
		if (this.#models?.version !== version) this.#models = { version };
		return this.#models;
	}

	/** All models, or only those whose provider has a credential. */
	models(available: boolean): ModelInfo[] {
		const cache = this.#modelCache();
		if (available) {
			cache.available ??= hostCall("models", { available: true });
			return cache.available;
		}
		cache.all ??= hostCall("models", {});
		return cache.all;
	}

	providers(): ProviderInfo[] {
		const cache = this.#modelCache();
		cache.providers ??= hostCall("providers");
		return cache.providers;
	}
}
