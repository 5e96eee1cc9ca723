// A library's login flow in the shape that `registerProvider` takes.

import type { OAuthAuth, OAuthCredential } from "@earendil-works/pi-ai";
import type { OAuthCredentials, ProviderConfig } from "../../types/api.js";
import type { Model } from "../../types/messages.js";
import { loginWith, refreshWith } from "../host-modules/pi-ai/flows.ts";

function stored(credentials: OAuthCredentials): OAuthCredential {
	return { ...credentials, type: "oauth" };
}

export function oauthOf(flow: OAuthAuth): NonNullable<ProviderConfig["oauth"]> {
	return {
		name: flow.name,
		login: (callbacks) => loginWith(flow, callbacks),
		refreshToken: (credentials, signal) => refreshWith(flow, credentials, signal),
		getApiKey: (credentials) => credentials.access,
		/** Some logins come with an endpoint of their own. The host awaits the answer. */
		modifyModels: (async (models: Model[], credentials: OAuthCredentials) => {
			const { baseUrl } = await flow.toAuth(stored(credentials));
			return baseUrl === undefined ? models : models.map((model) => ({ ...model, baseUrl }));
		}) as unknown as (models: Model[], credentials: OAuthCredentials) => Model[],
	};
}
