// `AuthStorage` and `discoverAuthStorage` (xcsh): keys by provider. Credentials live in the host; this asks for single keys, as far as the
// extension may have them, and keeps what the extension itself sets at run time.

import { hostCallAsync } from "../../host.ts";
import { getAgentDir } from "../host-info.ts";
import { NotAvailableError } from "./unavailable.ts";

export class AuthStorage {
	private readonly overrides = new Map<string, string>();

	/** A storage over the host's credentials; the path is accepted and not used. */
	static create(_authPath?: string): AuthStorage {
		return new AuthStorage();
	}

	static inMemory(): AuthStorage {
		return new AuthStorage();
	}

	/** A key for this isolate only; it wins over the host's. */
	setRuntimeApiKey(provider: string, apiKey: string): void {
		this.overrides.set(provider, apiKey);
	}

	removeRuntimeApiKey(provider: string): void {
		this.overrides.delete(provider);
	}

	/** The key for a provider; `undefined` without one, or when the extension may not have it. */
	async getApiKey(provider: string): Promise<string | undefined> {
		return this.overrides.get(provider) ?? (await hostCallAsync("getApiKey", { provider })) ?? undefined;
	}

	/** The host reads its credentials itself. */
	async reload(): Promise<void> {}

	hasRuntimeApiKey(provider: string): boolean {
		return this.overrides.has(provider);
	}

	set(provider: string): never {
		throw new NotAvailableError(
			"AuthStorage.set",
			`store the credential for "${provider}" in the host's configuration`,
		);
	}
}

/** xcsh: the credential storage of an agent directory. */
export async function discoverAuthStorage(_agentDir: string = getAgentDir()): Promise<AuthStorage> {
	return new AuthStorage();
}

/** pi: a stored credential is never handed out whole. */
export function readStoredCredential(): undefined {
	return undefined;
}
