// The OAuth functions that pi up to 0.58, oh-my-pi and xcsh export, over the login flows of today's library.
// Flows are loaded on first use. Nothing here stores a credential: callers get it and keep it.

import type { OAuthAuth, OAuthCredentials, OAuthLoginCallbacks } from "@earendil-works/pi-ai/compat";
import { builtinProviders } from "@earendil-works/pi-ai/providers/all";
import { loginWith, refreshWith } from "./flows.ts";

export type {
	OAuthAuthInfo,
	OAuthDeviceCodeInfo,
	OAuthPrompt,
	OAuthSelectOption,
	OAuthSelectPrompt,
} from "@earendil-works/pi-ai/compat";
export type { OAuthCredentials, OAuthLoginCallbacks };

/** The shape that extensions register and receive. */
export interface OAuthProviderInterface {
	readonly id: string;
	readonly name: string;
	login(callbacks: OAuthLoginCallbacks): Promise<OAuthCredentials>;
	refreshToken(credentials: OAuthCredentials): Promise<OAuthCredentials>;
	getApiKey(credentials: OAuthCredentials): string;
}

const registered = new Map<string, OAuthProviderInterface>();

function builtinFlow(id: string): OAuthAuth | undefined {
	return builtinProviders().find((provider) => provider.id === id)?.auth.oauth;
}

function flowOf(id: string): OAuthAuth {
	const flow = builtinFlow(id);
	if (flow === undefined) throw new Error(`Provider "${id}" has no OAuth login.`);
	return flow;
}

function builtin(id: string, flow: OAuthAuth): OAuthProviderInterface {
	return {
		id,
		name: flow.name,
		login: (callbacks) => loginWith(flow, callbacks),
		refreshToken: (credentials) => refreshWith(flow, credentials),
		getApiKey: (credentials) => credentials.access,
	};
}

/** The provider registered under `id`, else the built-in one. */
export function getOAuthProvider(id: string): OAuthProviderInterface | undefined {
	const own = registered.get(id);
	if (own !== undefined) return own;
	const flow = builtinFlow(id);
	return flow === undefined ? undefined : builtin(id, flow);
}

/** Adds a provider, or replaces the built-in one of the same id. */
export function registerOAuthProvider(provider: OAuthProviderInterface): void {
	if (typeof provider?.id !== "string" || provider.id === "") {
		throw new TypeError("registerOAuthProvider: `id` must be a non-empty string");
	}
	registered.set(provider.id, provider);
}

export function unregisterOAuthProvider(id: string): void {
	registered.delete(id);
}

/** Forgets every registered provider; the built-in ones stay. */
export function resetOAuthProviders(): void {
	registered.clear();
}

export function getOAuthProviders(): OAuthProviderInterface[] {
	const all = new Map<string, OAuthProviderInterface>();
	for (const provider of builtinProviders()) {
		if (provider.auth.oauth !== undefined) all.set(provider.id, builtin(provider.id, provider.auth.oauth));
	}
	for (const [id, provider] of registered) all.set(id, provider);
	return [...all.values()];
}

export function getOAuthProviderInfoList(): { id: string; name: string; available: boolean }[] {
	return getOAuthProviders().map(({ id, name }) => ({ id, name, available: true }));
}

/** Exchanges the refresh token. Rejects when the provider refuses it. */
export async function refreshOAuthToken(id: string, credentials: OAuthCredentials): Promise<OAuthCredentials> {
	const provider = getOAuthProvider(id);
	if (provider === undefined) throw new Error(`Unknown OAuth provider: ${id}`);
	return provider.refreshToken(credentials);
}

/**
 * An API key from stored credentials, refreshed first when they expired. `null` without credentials for `id`.
 * The caller stores `newCredentials`.
 */
export async function getOAuthApiKey(
	id: string,
	credentials: Record<string, OAuthCredentials>,
): Promise<{ newCredentials: OAuthCredentials; apiKey: string } | null> {
	const provider = getOAuthProvider(id);
	if (provider === undefined) throw new Error(`Unknown OAuth provider: ${id}`);
	const current = credentials[id];
	if (current === undefined) return null;
	const newCredentials = Date.now() >= current.expires ? await provider.refreshToken(current) : current;
	return { newCredentials, apiKey: provider.getApiKey(newCredentials) };
}

export const loginAnthropic = (callbacks: OAuthLoginCallbacks) => loginWith(flowOf("anthropic"), callbacks);
export const loginOpenAICodex = (callbacks: OAuthLoginCallbacks) => loginWith(flowOf("openai-codex"), callbacks);
export const loginGitHubCopilot = (callbacks: OAuthLoginCallbacks) => loginWith(flowOf("github-copilot"), callbacks);

/** Refreshes by refresh token alone; the other members of the credential are the provider's. */
export async function refreshAnthropicToken(refreshToken: string): Promise<OAuthCredentials> {
	return refreshWith(flowOf("anthropic"), { refresh: refreshToken, access: "", expires: 0 });
}

export async function refreshOpenAICodexToken(refreshToken: string): Promise<OAuthCredentials> {
	return refreshWith(flowOf("openai-codex"), { refresh: refreshToken, access: "", expires: 0 });
}

export async function refreshGitHubCopilotToken(
	refreshToken: string,
	enterpriseDomain?: string,
): Promise<OAuthCredentials> {
	return refreshWith(flowOf("github-copilot"), {
		refresh: refreshToken,
		access: "",
		expires: 0,
		...(enterpriseDomain === undefined ? {} : { enterpriseUrl: enterpriseDomain }),
	});
}
