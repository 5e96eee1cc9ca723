// The theme members of `ctx.ui`. Results work both directly (pi) and awaited (xcsh).

import { hostCall } from "../../host.ts";
import { isRecord } from "../json.ts";
import type { UiFlavor } from "../protocol.ts";
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

function switchTheme(env: UiEnv, theme: unknown): SetThemeResult {
	const { flavor } = env;
	if (flavor !== "tui") return { success: false, error: REFUSALS[flavor] };
	if (theme instanceof Theme) {
		if (env.record.profile === "xcsh") return { success: false, error: "Direct theme object not supported" };
		setCurrentTheme(theme);
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
			// `await undefined` works too, so only the terminal needs the double form, and a `Theme` is never mutated: awaiting gives the shared one.
			return env.flavor === "tui" ? namedTheme(String(name)) : undefined;
		},
		setTheme(theme: unknown): SetThemeResult {
			env.guard();
			const result = switchTheme(env, theme);
			return thenable({ ...result }, result);
		},
	};
}
