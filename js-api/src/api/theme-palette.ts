// Pier's own colours: one value for every theme token of the family (sdk-exports §2.3), dark and light. Data only.

/** Colour as `#rrggbb`, or `""` for the terminal's default colour. */
export type Hex = string;

export interface Palette {
	name: string;
	appearance: "dark" | "light";
	/** Foreground tokens. */
	fg: Record<string, Hex>;
	/** Background tokens. */
	bg: Record<string, Hex>;
}

interface Hues {
	text: Hex;
	soft: Hex;
	faint: Hex;
	line: Hex;
	lineFaint: Hex;
	accent: Hex;
	accentSoft: Hex;
	green: Hex;
	red: Hex;
	yellow: Hex;
	blue: Hex;
	purple: Hex;
	orange: Hex;
	cyan: Hex;
	panel: Hex;
	panelAlt: Hex;
	panelGreen: Hex;
	panelRed: Hex;
	selection: Hex;
	search: Hex;
}

function foreground(h: Hues): Record<string, Hex> {
	return {
		accent: h.accent,
		border: h.line,
		borderAccent: h.accentSoft,
		borderMuted: h.lineFaint,
		success: h.green,
		error: h.red,
		warning: h.yellow,
		muted: h.soft,
		dim: h.faint,
		text: "",
		thinkingText: h.soft,
		userMessageText: "",
		customMessageText: "",
		customMessageLabel: h.purple,
		toolTitle: h.text,
		toolOutput: h.soft,
		mdHeading: h.yellow,
		mdLink: h.blue,
		mdLinkUrl: h.faint,
		mdCode: h.accent,
		mdCodeBlock: h.green,
		mdCodeBlockBorder: h.line,
		mdQuote: h.soft,
		mdQuoteBorder: h.line,
		mdHr: h.line,
		mdListBullet: h.accent,
		toolDiffAdded: h.green,
		toolDiffRemoved: h.red,
		toolDiffContext: h.soft,
		syntaxComment: h.faint,
		syntaxKeyword: h.purple,
		syntaxFunction: h.blue,
		syntaxVariable: h.text,
		syntaxString: h.green,
		syntaxNumber: h.orange,
		syntaxType: h.cyan,
		syntaxOperator: h.soft,
		syntaxPunctuation: h.soft,
		syntaxControl: h.purple,
		thinkingOff: h.lineFaint,
		thinkingMinimal: h.line,
		thinkingLow: h.blue,
		thinkingMedium: h.cyan,
		thinkingHigh: h.purple,
		thinkingXhigh: h.orange,
		thinkingMax: h.red,
		bashMode: h.green,
		pythonMode: h.yellow,
		scrollbarTrack: h.lineFaint,
		scrollbarThumb: h.soft,
		searchMatchText: h.text,
		chromeAccent: h.accent,
		spinnerAccent: h.accent,
		contentAccent: h.accentSoft,
		gutterSuccess: h.green,
		gutterError: h.red,
		gutterWarning: h.yellow,
		statusLineSep: h.lineFaint,
		statusLineModel: h.purple,
		statusLinePath: h.cyan,
		statusLineGitClean: h.green,
		statusLineGitDirty: h.yellow,
		statusLineContext: h.soft,
		statusLineSpend: h.cyan,
		statusLineStaged: h.green,
		statusLineDirty: h.yellow,
		statusLineUntracked: h.blue,
		statusLineOutput: h.soft,
		statusLineCost: h.soft,
		statusLineSubagents: h.accent,
	};
}

function background(h: Hues): Record<string, Hex> {
	return {
		selectedBg: h.selection,
		userMessageBg: h.panel,
		customMessageBg: h.panelAlt,
		toolPendingBg: h.panel,
		toolSuccessBg: h.panelGreen,
		toolErrorBg: h.panelRed,
		searchMatchBg: h.search,
		statusLineBg: h.panel,
	};
}

const DARK: Hues = {
	text: "#dfe3ea",
	soft: "#98a1b3",
	faint: "#6b7386",
	line: "#4a5266",
	lineFaint: "#333a4a",
	accent: "#6fc3c9",
	accentSoft: "#4f9ba6",
	green: "#8fc27a",
	red: "#e0707a",
	yellow: "#dcb566",
	blue: "#6ea6e8",
	purple: "#b492e0",
	orange: "#e09866",
	cyan: "#62bccf",
	panel: "#262b37",
	panelAlt: "#2c2838",
	panelGreen: "#222d27",
	panelRed: "#352429",
	selection: "#34405a",
	search: "#5a4a1e",
};

const LIGHT: Hues = {
	text: "#262b36",
	soft: "#5c6577",
	faint: "#878f9f",
	line: "#a9b1c0",
	lineFaint: "#d0d5de",
	accent: "#16747c",
	accentSoft: "#2f8f98",
	green: "#3c7a2c",
	red: "#b52f3c",
	yellow: "#8f6410",
	blue: "#1f63b5",
	purple: "#7442b0",
	orange: "#a9561a",
	cyan: "#13728a",
	panel: "#edf0f5",
	panelAlt: "#f0ebf7",
	panelGreen: "#e8f3e6",
	panelRed: "#f9e8ea",
	selection: "#d5e2f7",
	search: "#f5e3a8",
};

export const PALETTES: Record<string, Palette> = {
	dark: { name: "dark", appearance: "dark", fg: foreground(DARK), bg: background(DARK) },
	light: { name: "light", appearance: "light", fg: foreground(LIGHT), bg: background(LIGHT) },
};
