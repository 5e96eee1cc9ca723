// The built-in model providers, as an extension: the host loads it by the name `pier:providers` into an isolate of its own, and from then on they
// are providers like any other. Credentials stay with the host; this says where a key may come from, runs logins, and streams.
// It must never read or keep a credential beyond the request that carries it.

import {
	type Api,
	getApiProvider,
	getApiProviders,
	getEnvApiKey,
	type Model,
	type SimpleStreamOptions,
	streamSimple,
} from "@earendil-works/pi-ai/compat";
import { registerLazyBedrockProvider } from "@earendil-works/pi-ai/lazy-bedrock-provider";
import { registerLazyOAuthFlows } from "@earendil-works/pi-ai/lazy-oauth";
import { builtinProviders } from "@earendil-works/pi-ai/providers/all";
import type { ExtensionAPI, ProviderConfig } from "../../types/api.js";
import { keyTemplate } from "./keys.ts";
import { oauthOf } from "./oauth.ts";
import { watchedStream } from "./watch.ts";

registerLazyOAuthFlows();
registerLazyBedrockProvider();

/** Protocol id of the registrations. Each model has its own protocol; the host reserves the ids of those for their owner. */
const API = "pi-ai";

/** Stands for the endpoint of providers whose endpoint comes from the environment at request time; the host refuses a registration without one. */
const FROM_ENVIRONMENT = "https://from-environment.invalid";

/** Streams any model whose protocol the library speaks, also one of a provider that only describes an endpoint. */
function stream(model: unknown, context: unknown, options: unknown): AsyncIterable<unknown> {
	const { api } = model as Model<Api>;
	if (getApiProvider(api) === undefined) {
		const known = getApiProviders().map((provider) => provider.api);
		throw new Error(`there is no protocol "${api}" ("api" of the provider or model); there are: ${known.join(", ")}`);
	}
	return watchedStream(api, (options ?? {}) as SimpleStreamOptions, (watched) =>
		streamSimple(model as Model<Api>, context as Parameters<typeof streamSimple>[1], watched),
	);
}

function configOf(provider: ReturnType<typeof builtinProviders>[number]): ProviderConfig | undefined {
	const models = provider.getModels();
	const [first] = models;
	const oauth = provider.auth.oauth;
	const apiKey = provider.auth.apiKey === undefined ? undefined : keyTemplate(provider.id, process.env, getEnvApiKey);
	if (first === undefined || (apiKey === undefined && oauth === undefined)) return undefined;
	return {
		name: provider.name,
		api: API,
		baseUrl: provider.baseUrl || first.baseUrl || FROM_ENVIRONMENT,
		...(apiKey === undefined ? {} : { apiKey }),
		models: models.map((model) => ({ ...model })),
		streamSimple: stream,
		...(oauth === undefined ? {} : { oauth: oauthOf(oauth) }),
	};
}

export default function providers(pi: Pick<ExtensionAPI, "registerProvider" | "logger">): void {
	for (const provider of builtinProviders()) {
		try {
			const config = configOf(provider);
			if (config !== undefined) pi.registerProvider(provider.id, config);
		} catch (error) {
			// One provider that the host refuses must not take the others with it.
			pi.logger.warn(`Built-in provider ${provider.id} is not available`, { error: String(error) });
		}
	}
}
