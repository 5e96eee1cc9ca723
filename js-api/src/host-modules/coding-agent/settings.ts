// Settings as extensions read them: a view of the host's merged settings, with overrides for this isolate.

import { hostCall } from "../../host.ts";

function lookUp(tree: unknown, path: string): unknown {
	if (typeof tree === "object" && tree !== null && Object.hasOwn(tree, path))
		return (tree as Record<string, unknown>)[path];
	return path.split(".").reduce<unknown>((value, key) => {
		return typeof value === "object" && value !== null && Object.hasOwn(value, key)
			? (value as Record<string, unknown>)[key]
			: undefined;
	}, tree);
}

/** xcsh: `settings.get("dotted.key")`. Reads are always of the current state. */
export class Settings {
	private readonly overrides = new Map<string, unknown>();

	/** Options are accepted and not used: the host has read its files. */
	static async init(_options?: unknown): Promise<Settings> {
		return settings;
	}

	static get instance(): Settings {
		return settings;
	}

	/** A store without the host's values, for tests of extensions. */
	static isolated(values: Record<string, unknown> = {}): Settings {
		const store = new IsolatedSettings();
		for (const [key, value] of Object.entries(values)) store.override(key, value);
		return store;
	}

	protected base(): unknown {
		return hostCall("settings");
	}

	get(key: string): unknown {
		return this.overrides.has(key) ? this.overrides.get(key) : lookUp(this.base(), key);
	}

	/** Sets a value for this isolate until it ends. Nothing is written. */
	override(key: string, value: unknown): void {
		this.overrides.set(key, value);
	}

	clearOverride(key: string): void {
		this.overrides.delete(key);
	}
}

class IsolatedSettings extends Settings {
	protected override base(): unknown {
		return {};
	}
}

export const settings = new Settings();

function isTree(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `over` on top of `base`; objects are merged, everything else is replaced. */
function merged(base: Record<string, unknown>, over: Record<string, unknown>): Record<string, unknown> {
	const result = { ...base };
	for (const [key, value] of Object.entries(over)) {
		const before = result[key];
		result[key] = isTree(before) && isTree(value) ? merged(before, value) : value;
	}
	return result;
}

/** pi: settings to read, and to start a session with; `create` ignores directories, because the host has merged its files. */
export class SettingsManager {
	private readonly values: Record<string, unknown> | undefined;
	private overrides: Record<string, unknown> = {};

	private constructor(values?: Record<string, unknown>) {
		this.values = values;
	}

	static create(_cwd?: string, _agentDir?: string): SettingsManager {
		return new SettingsManager();
	}

	static inMemory(values: Record<string, unknown> = {}): SettingsManager {
		return new SettingsManager(values);
	}

	/** Values on top of everything else, for this object and the sessions that are started with it. */
	applyOverrides(overrides: Record<string, unknown>): void {
		this.overrides = merged(this.overrides, overrides);
	}

	/** What a session that is started with this object needs to be told. */
	forSession(): { settings?: Record<string, unknown>; settingOverrides: Record<string, unknown> } {
		const settingOverrides = structuredClone(this.overrides);
		return this.values === undefined
			? { settingOverrides }
			: { settings: structuredClone(this.values), settingOverrides };
	}

	/** A copy of the merged settings. */
	getSettings(): Record<string, unknown> {
		const base = this.values ?? (hostCall("settings") as Record<string, unknown>);
		return structuredClone(merged(base, this.overrides));
	}

	get(key: string): unknown {
		return lookUp(this.getSettings(), key);
	}
}
