// Arguments of tool renderers that serve several relatives at once (§6.5): objects that are a theme and options, or a theme and a render
// context, so that `(args, theme)`, `(args, options, theme)` and `(args, theme, context)` all draw.

import { Theme } from "./theme.ts";

/** Property descriptors that make any object answer as `theme` does. */
function themeDescriptors(theme: Theme): PropertyDescriptorMap {
	const descriptors: PropertyDescriptorMap = {};
	for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(Theme.prototype))) {
		if (name === "constructor") continue;
		if (typeof descriptor.value === "function") {
			descriptors[name] = { value: descriptor.value.bind(theme), configurable: true, writable: true };
		} else if (descriptor.get !== undefined) {
			descriptors[name] = { get: descriptor.get.bind(theme), configurable: true };
		}
	}
	for (const name of ["name", "appearance", "colors"] as const) {
		descriptors[name] = { value: theme[name], configurable: true, writable: true };
	}
	return descriptors;
}

const cache = new WeakMap<Theme, PropertyDescriptorMap>();

/** An object that is an instance of `Theme`, works like `theme`, and has the members of `more`, which win on a clash. */
export function themeWith<T extends object>(theme: Theme, more: T): Theme & T {
	let descriptors = cache.get(theme);
	if (descriptors === undefined) {
		descriptors = themeDescriptors(theme);
		cache.set(theme, descriptors);
	}
	const hybrid: object = Object.create(Theme.prototype, descriptors);
	return Object.defineProperties(hybrid, Object.getOwnPropertyDescriptors(more)) as Theme & T;
}

/**
 * The fourth argument of `renderResult`: pi's render context whose own keys also show the call's arguments, which is what xcsh passes there.
 * On a clash the profile's meaning wins.
 */
export function contextWithArgs(context: object, args: unknown, argsWin: boolean): object {
	const hybrid = Object.defineProperties({}, Object.getOwnPropertyDescriptors(context));
	if (args === null || typeof args !== "object") return hybrid;
	for (const [key, value] of Object.entries(args)) {
		if (!argsWin && key in hybrid) continue;
		Object.defineProperty(hybrid, key, { value, enumerable: true, configurable: true, writable: true });
	}
	return hybrid;
}
