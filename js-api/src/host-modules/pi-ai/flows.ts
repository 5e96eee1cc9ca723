// Runs a login flow of the library with the callbacks that extensions and older programs give.

import type {
	AuthEvent,
	AuthPrompt,
	OAuthAuth,
	OAuthCredential,
	OAuthCredentials,
	OAuthLoginCallbacks,
} from "@earendil-works/pi-ai/compat";

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

/** Runs a login flow with the callbacks of extensions. */
export async function loginWith(flow: OAuthAuth, callbacks: OAuthLoginCallbacks): Promise<OAuthCredentials> {
	const { type: _type, ...credentials } = await flow.login({
		signal: callbacks.signal ?? new AbortController().signal,
		prompt: (prompt) => answerPrompt(callbacks, prompt),
		notify: (event) => tell(callbacks, event),
	});
	return credentials;
}

/** Exchanges the refresh token of a flow. */
export async function refreshWith(
	flow: OAuthAuth,
	credentials: OAuthCredentials,
	signal?: AbortSignal,
): Promise<OAuthCredentials> {
	const stored: OAuthCredential = { ...credentials, type: "oauth" };
	const { type: _type, ...next } = await flow.refresh(stored, signal ?? new AbortController().signal);
	return next;
}
