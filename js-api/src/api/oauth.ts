// A provider's login functions (§7.6). They run here; what they ask the person goes through the host, which also keeps the credentials.

import { hostCallAsync } from "../host.ts";
import type { CallScope } from "./calls.ts";
import { isRecord } from "./json.ts";
import type { OAuthOperation } from "./protocol.ts";
import { updatedProvider } from "./provider-update.ts";
import type { Runtime } from "./runtime.ts";

interface OAuthHeader {
	ext: number;
	provider: string;
	op: OAuthOperation;
	callId: number;
}

async function interact(callId: number, kind: string, fields: Record<string, unknown>): Promise<unknown> {
	return (await hostCallAsync("oauth.interact", { callId, kind, ...fields }))?.value;
}

async function interactText(callId: number, kind: string, fields: Record<string, unknown>): Promise<string> {
	const value = await interact(callId, kind, fields);
	if (typeof value !== "string") throw new Error("Login cancelled");
	return value;
}

function loginCallbacks(scope: CallScope) {
	const { callId } = scope;
	/** Notices: their loss must not fail the login. */
	const tell = (kind: string, fields: Record<string, unknown>) => {
		interact(callId, kind, fields).catch(() => {});
	};
	return {
		onAuth: (info: unknown) => tell("auth", isRecord(info) ? info : { url: String(info) }),
		onDeviceCode: (info: unknown) => tell("deviceCode", isRecord(info) ? info : {}),
		onProgress: (message: unknown) => tell("progress", { message: String(message) }),
		onPrompt: (prompt: unknown) =>
			interactText(callId, "prompt", isRecord(prompt) ? prompt : { message: String(prompt) }),
		onManualCodeInput: () => interactText(callId, "manualCode", {}),
		onSelect: async (prompt: unknown): Promise<string | undefined> => {
			const value = await interact(callId, "select", isRecord(prompt) ? prompt : {});
			return typeof value === "string" ? value : undefined;
		},
		signal: scope.signal,
	};
}

export function runOAuth(runtime: Runtime, header: OAuthHeader, payload: string | undefined): unknown {
	const record = runtime.record(header.ext);
	const oauth = record.providers.get(header.provider)?.oauth;
	const fn = oauth?.[header.op];
	if (typeof fn !== "function") {
		throw new Error(`Provider "${header.provider}" of ${record.path} has no oauth.${header.op}`);
	}
	const { credentials, models } = JSON.parse(payload ?? "{}") as { credentials?: unknown; models?: unknown };
	return runtime.calls.run(header.callId, async (scope) => {
		switch (header.op) {
			case "login":
				return oauth?.login?.(loginCallbacks(scope));
			case "refreshToken":
				return oauth?.refreshToken?.(credentials, scope.signal);
			case "getApiKey":
				return oauth?.getApiKey?.(credentials);
			default:
				return oauth?.modifyModels?.(models, credentials);
		}
	});
}

/** Handles `refreshModels`: the provider's new list. */
export function runRefreshModels(
	runtime: Runtime,
	header: { ext: number; provider: string; callId: number },
	payload: string | undefined,
): unknown {
	const record = runtime.record(header.ext);
	const provider = record.providers.get(header.provider);
	if (provider?.refreshModels === undefined) {
		throw new Error(`Provider "${header.provider}" of ${record.path} has no refreshModels`);
	}
	const given = JSON.parse(payload ?? "{}") as Record<string, unknown>;
	return runtime.calls.run(header.callId, async (scope) => {
		const models = await provider.refreshModels?.({
			allowNetwork: true,
			...given,
			signal: scope.signal,
			// Persistence belongs to the host, which stores what this call returns.
			publish: async (publication: { update?: () => void } | undefined) => {
				publication?.update?.();
				return true;
			},
		});
		const current = record.providers.get(header.provider);
		// A later registration that does not define models keeps these.
		if (current !== undefined && Array.isArray(models)) {
			record.providers.set(header.provider, updatedProvider(current, { models }));
		}
		return models;
	});
}
