// The theme members of `ctx.ui`. Results work both directly (pi) and awaited (xcsh).

import { hostCall } from "../../host.ts";
import { isRecord } from "../json.ts";
import type { UiFlavor } from "../protocol.ts";
import { themeWith } from "../render-hybrids.ts";
import { currentTheme, namedTheme, setCurrentTheme, Theme, themeNames } from "../theme.ts";
import type { UiEnv } from "./env.ts";
import { thenable } from "./thenable.ts";

export interface ThemeInfo {
	name: string;
	path: string | undefined;
}

export interface SetThemeResult {
	success: boolean;
	error?: string;
}

/** Why a theme cannot be set, by frontend (§8.2). */
const REFUSALS: Record<Exclude<UiFlavor, "tui">, string> = {
	rpc: "Theme switching not supported in RPC mode",
	acp: "Theme changes are unavailable in ACP mode",
	background: "Background mode",
	none: "UI not available",
};

/** The theme behind each awaitable stand-in that `getTheme` gave out. */
const originals = new WeakMap<Theme, Theme>();

function switchTheme(env: UiEnv, theme: unknown): SetThemeResult {
	const { flavor } = env;
	if (flavor !== "tui") return { success: false, error: REFUSALS[flavor] };
	if (theme instanceof Theme) {
		if (env.record.profile === "xcsh") return { success: false, error: "Direct theme object not supported" };
		setCurrentTheme(originals.get(theme) ?? theme);
		return { success: true };
	}
	if (typeof theme !== "string") return { success: false, error: "setTheme: expected a theme name" };
	const answer = hostCall("ui", { ...env.origin, method: "setTheme", name: theme });
	const refused = isRecord(answer) && answer.success === false;
	if (refused)
		return { success: false, error: typeof answer.error === "string" ? answer.error : `Theme not found: ${theme}` };
	const own = namedTheme(theme);
	if (own !== undefined) setCurrentTheme(own);
	return { success: true };
}

export function createThemeMembers(env: UiEnv) {
	return {
		get theme(): Theme {
			env.guard();
			return currentTheme();
		},
		getAllThemes(): ThemeInfo[] {
			env.guard();
			const listed = env.ask("themes");
			let themes: ThemeInfo[] = [];
			if (Array.isArray(listed)) themes = listed as unknown as ThemeInfo[];
			else if (env.flavor === "tui") themes = themeNames().map((name) => ({ name, path: undefined }));
			return thenable([...themes], [...themes]);
		},
		getTheme(name: string): Theme | undefined {
			env.guard();
			const theme = env.flavor === "tui" ? namedTheme(String(name)) : undefined;
			if (theme === undefined) return undefined;
			const double = thenable(themeWith(theme, {}), theme);
			originals.set(double, theme);
			return double;
		},
		setTheme(theme: unknown): SetThemeResult {
			env.guard();
			const result = switchTheme(env, theme);
			return thenable({ ...result }, result);
		},
	};
}
