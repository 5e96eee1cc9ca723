// The OAuth functions that pi up to 0.58, oh-my-pi and xcsh export, over the login flows of today's library.
// Flows are loaded on first use. Nothing here stores a credential: callers get it and keep it.

import { builtinProviders } from "@earendil-works/pi-ai/providers/all";
import type {
	AuthEvent,
	AuthPrompt,
	OAuthAuth,
	OAuthCredential,
	OAuthCredentials,
	OAuthLoginCallbacks,
} from "@earendil-works/pi-ai/compat";

export type { OAuthCredentials, OAuthLoginCallbacks };
export type {
	OAuthAuthInfo,
	OAuthDeviceCodeInfo,
	OAuthPrompt,
	OAuthSelectOption,
	OAuthSelectPrompt,
} from "@earendil-works/pi-ai/compat";

/** The shape that extensions register and receive. */
export interface OAuthProviderInterface {
	readonly id: string;
	readonly name: string;
	login(callbacks: OAuthLoginCallbacks): Promise<OAuthCredentials>;
	refreshToken(credentials: OAuthCredentials): Promise<OAuthCredentials>;
	getApiKey(credentials: OAuthCredentials): string;
}

const registered = new Map<string, OAuthProviderInterface>();

function answerPrompt(callbacks: OAuthLoginCallbacks, prompt: AuthPrompt): Promise<string> {
	if (prompt.type === "select") {
		const options = prompt.options.map(({ id, label }) => ({ id, label }));
		return callbacks.onSelect({ message: prompt.message, options }).then((id) => {
			if (id === undefined) throw new Error("Login cancelled");
			return id;
		});
	}
	if (prompt.type === "manual_code" && callbacks.onManualCodeInput !== undefined) return callbacks.onManualCodeInput();
	return callbacks.onPrompt({
		message: prompt.message,
		...(prompt.placeholder === undefined ? {} : { placeholder: prompt.placeholder }),
	});
}

function tell(callbacks: OAuthLoginCallbacks, event: AuthEvent): void {
	if (event.type === "auth_url") {
		callbacks.onAuth({
			url: event.url,
			...(event.instructions === undefined ? {} : { instructions: event.instructions }),
		});
	} else if (event.type === "device_code") {
		const { type: _type, ...info } = event;
		// Callers written before device codes had a callback of their own show them like a link.
		if (typeof callbacks.onDeviceCode === "function") callbacks.onDeviceCode(info);
		else
			(callbacks as OAuthLoginCallbacks).onAuth({ url: info.verificationUri, instructions: `Code: ${info.userCode}` });
	} else {
		callbacks.onProgress?.(event.message);
	}
}

async function login(flow: OAuthAuth, callbacks: OAuthLoginCallbacks): Promise<OAuthCredentials> {
	const { type: _type, ...credentials } = await flow.login({
		signal: callbacks.signal ?? new AbortController().signal,
		prompt: (prompt) => answerPrompt(callbacks, prompt),
		notify: (event) => tell(callbacks, event),
	});
	return credentials;
}

async function refresh(
	flow: OAuthAuth,
	credentials: OAuthCredentials,
	signal?: AbortSignal,
): Promise<OAuthCredentials> {
	const stored: OAuthCredential = { ...credentials, type: "oauth" };
	const { type: _type, ...next } = await flow.refresh(stored, signal ?? new AbortController().signal);
	return next;
}

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
		login: (callbacks) => login(flow, callbacks),
		refreshToken: (credentials) => refresh(flow, credentials),
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

export const loginAnthropic = (callbacks: OAuthLoginCallbacks) => login(flowOf("anthropic"), callbacks);
export const loginOpenAICodex = (callbacks: OAuthLoginCallbacks) => login(flowOf("openai-codex"), callbacks);
export const loginGitHubCopilot = (callbacks: OAuthLoginCallbacks) => login(flowOf("github-copilot"), callbacks);

/** Refreshes by refresh token alone; the other members of the credential are the provider's. */
export async function refreshAnthropicToken(refreshToken: string): Promise<OAuthCredentials> {
	return refresh(flowOf("anthropic"), { refresh: refreshToken, access: "", expires: 0 });
}

export async function refreshOpenAICodexToken(refreshToken: string): Promise<OAuthCredentials> {
	return refresh(flowOf("openai-codex"), { refresh: refreshToken, access: "", expires: 0 });
}

export async function refreshGitHubCopilotToken(
	refreshToken: string,
	enterpriseDomain?: string,
): Promise<OAuthCredentials> {
	return refresh(flowOf("github-copilot"), {
		refresh: refreshToken,
		access: "",
		expires: 0,
		...(enterpriseDomain === undefined ? {} : { enterpriseUrl: enterpriseDomain }),
	});
}
