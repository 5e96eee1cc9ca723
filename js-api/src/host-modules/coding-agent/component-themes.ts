// Style tables that the component library's widgets take, made from the theme in force at each call of a style.

import type { EditorTheme, MarkdownTheme, SelectListTheme, SettingsListTheme } from "@earendil-works/pi-tui";
import { currentTheme } from "../../api/theme.ts";
import { highlightCode } from "./highlight.ts";

const colored = (token: string) => (text: string) => currentTheme().fg(token, text);

export function getSelectListTheme(): SelectListTheme {
	return {
		selectedPrefix: colored("accent"),
		selectedText: colored("accent"),
		description: colored("muted"),
		scrollInfo: colored("muted"),
		noMatch: colored("muted"),
	};
}

export function getEditorTheme(): EditorTheme {
	return { borderColor: colored("borderMuted"), selectList: getSelectListTheme() };
}

export function getSettingsListTheme(): SettingsListTheme {
	const theme = currentTheme();
	return {
		label: (text, selected) => (selected ? currentTheme().fg("accent", text) : text),
		value: (text, selected) => currentTheme().fg(selected ? "accent" : "muted", text),
		description: colored("dim"),
		cursor: theme.fg("accent", "→ "),
		hint: colored("dim"),
	};
}

export function getMarkdownTheme(): MarkdownTheme {
	return {
		heading: colored("mdHeading"),
		link: colored("mdLink"),
		linkUrl: colored("mdLinkUrl"),
		code: colored("mdCode"),
		codeBlock: colored("mdCodeBlock"),
		codeBlockBorder: colored("mdCodeBlockBorder"),
		quote: colored("mdQuote"),
		quoteBorder: colored("mdQuoteBorder"),
		hr: colored("mdHr"),
		listBullet: colored("mdListBullet"),
		bold: (text) => currentTheme().bold(text),
		italic: (text) => currentTheme().italic(text),
		underline: (text) => currentTheme().underline(text),
		strikethrough: (text) => currentTheme().strikethrough(text),
		highlightCode,
	};
}
