// Symbol tables of the theme (xcsh's additions, sdk-exports §2.3): plain Unicode that every terminal font has, and an ASCII set.
// Data and one lookup; drawing is elsewhere.

export type SymbolPreset = "unicode" | "ascii";
type Group = Record<string, string>;

const UNICODE: Record<string, Group> = {
	status: {
		success: "✓",
		error: "✗",
		warning: "⚠",
		info: "ℹ",
		pending: "○",
		disabled: "◌",
		enabled: "●",
		running: "◐",
		shadowed: "◌",
		aborted: "■",
	},
	nav: { cursor: "❯", selected: "➜", expand: "▸", collapse: "▾", back: "◂" },
	tree: { branch: "├─", last: "└─", vertical: "│", horizontal: "─", hook: "└" },
	boxRound: { topLeft: "╭", topRight: "╮", bottomLeft: "╰", bottomRight: "╯", horizontal: "─", vertical: "│" },
	boxSharp: {
		topLeft: "┌",
		topRight: "┐",
		bottomLeft: "└",
		bottomRight: "┘",
		horizontal: "─",
		vertical: "│",
		cross: "┼",
		teeDown: "┬",
		teeUp: "┴",
		teeRight: "├",
		teeLeft: "┤",
	},
	sep: { dot: " · ", slash: " / ", pipe: " │ ", block: " ▌ ", space: " ", asciiLeft: ">", asciiRight: "<" },
	icon: {
		model: "◆",
		plan: "☰",
		folder: "▣",
		file: "▤",
		git: "⎇",
		branch: "⎇",
		tokens: "⊛",
		context: "◫",
		cost: "$",
		time: "◷",
		agents: "⌬",
		cache: "▥",
		input: "↓",
		output: "↑",
		host: "⌂",
		session: "◉",
		package: "▦",
		warning: "⚠",
		auto: "↻",
	},
	thinking: { minimal: "◔", low: "◑", medium: "◒", high: "◕", xhigh: "●" },
	checkbox: { checked: "☑", unchecked: "☐" },
	todo: { pending: "☐", inProgress: "◐", completed: "☑", abandoned: "☒" },
	format: { bullet: "•", dash: "–", bracketLeft: "⟨", bracketRight: "⟩" },
	md: { quoteBorder: "│", hrChar: "─", bullet: "•" },
};

const ASCII: Record<string, Group> = {
	status: {
		success: "[ok]",
		error: "[x]",
		warning: "[!]",
		info: "[i]",
		pending: "[ ]",
		disabled: "[-]",
		enabled: "[*]",
		running: "[~]",
		shadowed: "[-]",
		aborted: "[#]",
	},
	nav: { cursor: ">", selected: "->", expand: "+", collapse: "-", back: "<" },
	tree: { branch: "|-", last: "`-", vertical: "|", horizontal: "-", hook: "`" },
	boxRound: { topLeft: "+", topRight: "+", bottomLeft: "+", bottomRight: "+", horizontal: "-", vertical: "|" },
	boxSharp: {
		topLeft: "+",
		topRight: "+",
		bottomLeft: "+",
		bottomRight: "+",
		horizontal: "-",
		vertical: "|",
		cross: "+",
		teeDown: "+",
		teeUp: "+",
		teeRight: "+",
		teeLeft: "+",
	},
	sep: { dot: " - ", slash: " / ", pipe: " | ", block: " # ", space: " ", asciiLeft: ">", asciiRight: "<" },
	icon: Object.fromEntries(Object.keys(UNICODE.icon ?? {}).map((key) => [key, ""])),
	thinking: { minimal: "[min]", low: "[low]", medium: "[med]", high: "[high]", xhigh: "[xhigh]" },
	checkbox: { checked: "[x]", unchecked: "[ ]" },
	todo: { pending: "[ ]", inProgress: "[~]", completed: "[x]", abandoned: "[-]" },
	format: { bullet: "*", dash: "-", bracketLeft: "[", bracketRight: "]" },
	md: { quoteBorder: "|", hrChar: "-", bullet: "*" },
};

export const SYMBOLS: Record<SymbolPreset, Record<string, Group>> = { unicode: UNICODE, ascii: ASCII };

/** Symbol for a dotted key such as `status.success`; unknown keys give an empty string. */
export function symbolFor(preset: SymbolPreset, key: string): string {
	const dot = key.indexOf(".");
	if (dot < 0) return "";
	return SYMBOLS[preset][key.slice(0, dot)]?.[key.slice(dot + 1)] ?? "";
}

export const SPINNERS: Record<SymbolPreset, Record<string, string[]>> = {
	unicode: {
		status: ["·", "•", "●", "•"],
		activity: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
	},
	ascii: { status: [".", "o", "O", "o"], activity: ["|", "/", "-", "\\"] },
};

/** Short marks for languages, by the names that highlighters use. */
export const LANGUAGE_ICONS: Record<string, string> = {
	typescript: "TS",
	javascript: "JS",
	python: "PY",
	rust: "RS",
	go: "GO",
	bash: "$",
	json: "{}",
	markdown: "MD",
};
