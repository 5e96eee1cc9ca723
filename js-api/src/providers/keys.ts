// Where a built-in provider's key comes from when none is stored: environment variables, as a template that the host resolves.

import { findEnvKeys } from "@earendil-works/pi-ai/compat";

type Environment = Readonly<Record<string, string | undefined>>;

/** What the library answers for a provider that finds credentials by itself, such as a cloud profile. */
const AMBIENT = "<authenticated>";

/** Variables that may hold a token which is no API key. */
const NOT_KEYS = new Set(["ANTHROPIC_AUTH_TOKEN"]);

/** A variable that is looked at when nothing is set, for providers whose credentials are ambient. */
const FALLBACK: Readonly<Record<string, string>> = { "amazon-bedrock": "AWS_BEARER_TOKEN_BEDROCK" };

/** All variables that the library would look at, in its order. */
function variablesOf(provider: string): string[] {
	const everything = new Proxy<Record<string, string>>({}, { get: () => "set", has: () => true });
	return (findEnvKeys(provider, everything) ?? []).filter((name) => !NOT_KEYS.has(name));
}

/**
 * `$NAME` of the first variable that is set, else of the first that could be: the host then knows what is missing. `<authenticated>` when the
 * library finds credentials by itself, `undefined` when it knows of no variable.
 */
export function keyTemplate(
	provider: string,
	environment: Environment,
	ambientKey: (provider: string) => string | undefined,
): string | undefined {
	const names = variablesOf(provider);
	const set = names.find((name) => environment[name]);
	if (set !== undefined) return `$${set}`;
	if (ambientKey(provider) === AMBIENT) return AMBIENT;
	const missing = names[0] ?? FALLBACK[provider];
	return missing === undefined ? undefined : `$${missing}`;
}
