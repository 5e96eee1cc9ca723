// The `keybindings` argument of component factories: the coding-agent module's manager, or, where that module is absent, one without bindings.

import { isObjectLike } from "../json.ts";
import type { Runtime } from "../runtime.ts";

export interface Keybindings {
	matches(data: string, id: string): boolean;
	getKeys(id: string): readonly string[];
}

const NO_BINDINGS: Keybindings = {
	matches: () => false,
	getKeys: () => [],
};

export function keybindingsOf(runtime: Runtime): Keybindings {
	const library = runtime.namespaces.pi as { KeybindingsManager?: new () => Keybindings } | undefined;
	return typeof library?.KeybindingsManager === "function" ? new library.KeybindingsManager() : NO_BINDINGS;
}

type Done = (value?: unknown) => void;

/**
 * `done` that also has the manager's methods, for factories with three parameters: old ones take `(tui, theme, done)`, newer ones may
 * ignore `done` and take `(tui, theme, keybindings)` (§8.1).
 */
export function doneWithKeybindings(done: Done, keybindings: Keybindings): Done & Keybindings {
	const hybrid = (value?: unknown) => done(value);
	for (
		let holder: object | null = keybindings;
		holder !== null && holder !== Object.prototype;
		holder = Object.getPrototypeOf(holder)
	) {
		for (const name of Object.getOwnPropertyNames(holder)) {
			if (name === "constructor" || name in hybrid) continue;
			const value = (keybindings as unknown as Record<string, unknown>)[name];
			if (typeof value === "function") Object.defineProperty(hybrid, name, { value: value.bind(keybindings) });
		}
	}
	return hybrid as Done & Keybindings;
}

/** The coding-agent module's function that names keys, or one that repeats the id. */
export function keyTextOf(runtime: Runtime): (binding: unknown) => string {
	const library = runtime.namespaces.pi as { keyText?: (binding: string) => string } | undefined;
	return (binding) =>
		isObjectLike(library) && typeof library.keyText === "function" ? library.keyText(String(binding)) : String(binding);
}
