// Choosing the theme of this isolate.

import { currentTheme, namedTheme, setCurrentTheme, type Theme, themeNames } from "../../api/theme.ts";

/** Puts a theme in force by name; an unknown name keeps the current one. Themes work without this call. */
export function initTheme(name?: string): void {
	const theme = name === undefined ? undefined : namedTheme(name);
	if (theme !== undefined) setCurrentTheme(theme);
}

export function getThemeByName(name: string): Theme | undefined {
	return namedTheme(name);
}

export function getAvailableThemes(): string[] {
	return themeNames();
}

/** The theme in force, looked up at each use, as a value that can be kept. */
export const theme: Theme = new Proxy({} as Theme, {
	get(_target, key) {
		const active = currentTheme();
		const value: unknown = Reflect.get(active, key);
		return typeof value === "function" ? value.bind(active) : value;
	},
	has: (_target, key) => Reflect.has(currentTheme(), key),
	getPrototypeOf: () => Object.getPrototypeOf(currentTheme()) as object,
});
