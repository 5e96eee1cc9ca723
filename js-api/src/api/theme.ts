// `Theme` (sdk-exports §2.3): turns tokens into ANSI sequences. Works the moment it is imported, in every mode, because extensions style
// text before any UI exists. An unknown token gives plain text: it may belong to another member of the family.

import { PALETTES, type Palette } from "./theme-palette.ts";
import { LANGUAGE_ICONS, SPINNERS, SYMBOLS, symbolFor, type SymbolPreset } from "./theme-symbols.ts";

export type ColorMode = "truecolor" | "256color";

export interface ThemeStyle {
	fg?: string;
	bg?: string;
	bold?: boolean;
	italic?: boolean;
	underline?: boolean;
	inverse?: boolean;
	strikethrough?: boolean;
	dim?: boolean;
}

const RESET_FG = "\x1b[39m";
const RESET_BG = "\x1b[49m";

function channels(hex: string): [number, number, number] | undefined {
	const match = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(hex);
	if (match === null) return undefined;
	const [, r = "0", g = "0", b = "0"] = match;
	return [Number.parseInt(r, 16), Number.parseInt(g, 16), Number.parseInt(b, 16)];
}

/** Nearest entry of the 6×6×6 cube or the grey ramp of the 256-colour palette. */
function nearest256([r, g, b]: [number, number, number]): number {
	const levels = [0, 95, 135, 175, 215, 255];
	const step = (value: number) =>
		levels.reduce(
			(best, level, index) => (Math.abs(level - value) < Math.abs((levels[best] ?? 0) - value) ? index : best),
			0,
		);
	const [ri, gi, bi] = [step(r), step(g), step(b)];
	const distance = (x: number, y: number, z: number) => (x - r) ** 2 + (y - g) ** 2 + (z - b) ** 2;
	const cube = distance(levels[ri] ?? 0, levels[gi] ?? 0, levels[bi] ?? 0);
	const grey = Math.max(0, Math.min(23, Math.round(((r + g + b) / 3 - 8) / 10)));
	const greyLevel = 8 + grey * 10;
	return distance(greyLevel, greyLevel, greyLevel) < cube ? 232 + grey : 16 + 36 * ri + 6 * gi + bi;
}

function ansi(hex: string, mode: ColorMode, layer: 38 | 48): string {
	const rgb = channels(hex);
	if (rgb === undefined) return "";
	return mode === "truecolor" ? `\x1b[${layer};2;${rgb.join(";")}m` : `\x1b[${layer};5;${nearest256(rgb)}m`;
}

export class Theme {
	readonly name: string | undefined;
	readonly appearance: "dark" | "light";
	/** Colour values by token. */
	readonly colors: Readonly<Record<string, string>>;
	readonly #palette: Palette;
	readonly #mode: ColorMode;
	readonly #symbols: SymbolPreset;
	readonly #fgCache = new Map<string, string>();
	readonly #bgCache = new Map<string, string>();

	constructor(
		palette: Palette = PALETTES.dark as Palette,
		mode: ColorMode = "truecolor",
		symbols: SymbolPreset = "unicode",
	) {
		this.#palette = palette;
		this.#mode = mode;
		this.#symbols = symbols;
		this.name = palette.name;
		this.appearance = palette.appearance;
		this.colors = Object.freeze({ ...palette.fg, ...palette.bg });
	}

	/** Text in a foreground colour. */
	fg(token: string, text: string): string {
		const open = this.getFgAnsi(token);
		return open === "" ? String(text) : `${open}${text}${RESET_FG}`;
	}

	/** Text on a background colour. */
	bg(token: string, text: string): string {
		const open = this.getBgAnsi(token);
		return open === "" ? String(text) : `${open}${text}${RESET_BG}`;
	}

	bold(text: string): string {
		return `\x1b[1m${text}\x1b[22m`;
	}

	italic(text: string): string {
		return `\x1b[3m${text}\x1b[23m`;
	}

	underline(text: string): string {
		return `\x1b[4m${text}\x1b[24m`;
	}

	inverse(text: string): string {
		return `\x1b[7m${text}\x1b[27m`;
	}

	strikethrough(text: string): string {
		return `\x1b[9m${text}\x1b[29m`;
	}

	/** Several styles at once. */
	style(text: string, style: ThemeStyle): string {
		let styled = String(text);
		if (style.dim) styled = `\x1b[2m${styled}\x1b[22m`;
		if (style.bold) styled = this.bold(styled);
		if (style.italic) styled = this.italic(styled);
		if (style.underline) styled = this.underline(styled);
		if (style.strikethrough) styled = this.strikethrough(styled);
		if (style.inverse) styled = this.inverse(styled);
		if (style.fg !== undefined) styled = this.fg(style.fg, styled);
		if (style.bg !== undefined) styled = this.bg(style.bg, styled);
		return styled;
	}

	/** Sequence that switches a foreground token on; empty for an unknown token, a reset for the terminal's default. */
	getFgAnsi(token: string): string {
		return this.#sequence(this.#fgCache, this.#palette.fg, token, 38, RESET_FG);
	}

	getBgAnsi(token: string): string {
		return this.#sequence(this.#bgCache, this.#palette.bg, token, 48, RESET_BG);
	}

	#sequence(
		cache: Map<string, string>,
		table: Record<string, string>,
		token: string,
		layer: 38 | 48,
		reset: string,
	): string {
		let sequence = cache.get(token);
		if (sequence === undefined) {
			const hex = Object.hasOwn(table, token) ? table[token] : undefined;
			sequence = hex === undefined ? "" : hex === "" ? reset : ansi(hex, this.#mode, layer);
			cache.set(token, sequence);
		}
		return sequence;
	}

	/** `#rrggbb` of a foreground token, if it has one. */
	getFgHex(token: string): string | undefined {
		return (Object.hasOwn(this.#palette.fg, token) && this.#palette.fg[token]) || undefined;
	}

	/** Sequence that uses a foreground token's colour as background. */
	fgColorAsBg(token: string): string {
		const hex = this.getFgHex(token);
		return hex === undefined ? "" : ansi(hex, this.#mode, 48);
	}

	getColorMode(): ColorMode {
		return this.#mode;
	}

	/** Function that colours an editor border by thinking level. */
	getThinkingBorderColor(level: string): (text: string) => string {
		const token = `thinking${level.charAt(0).toUpperCase()}${level.slice(1)}`;
		return (text) => this.fg(Object.hasOwn(this.#palette.fg, token) ? token : "thinkingOff", text);
	}

	getBashModeBorderColor(): (text: string) => string {
		return (text) => this.fg("bashMode", text);
	}

	getPythonModeBorderColor(): (text: string) => string {
		return (text) => this.fg("pythonMode", text);
	}

	/** Symbol for a dotted key such as `status.success`. */
	symbol(key: string): string {
		return symbolFor(this.#symbols, key);
	}

	styledSymbol(key: string, token: string): string {
		return this.fg(token, this.symbol(key));
	}

	getSymbolPreset(): SymbolPreset {
		return this.#symbols;
	}

	getSpinnerFrames(type = "status"): string[] {
		const frames = SPINNERS[this.#symbols];
		return [...(frames[type] ?? frames.status ?? [])];
	}

	get spinnerFrames(): string[] {
		return this.getSpinnerFrames();
	}

	getLangIcon(language: string | undefined): string {
		return language === undefined ? "" : (LANGUAGE_ICONS[language.toLowerCase()] ?? "");
	}

	get status(): Record<string, string> {
		return SYMBOLS[this.#symbols].status ?? {};
	}
	get nav(): Record<string, string> {
		return SYMBOLS[this.#symbols].nav ?? {};
	}
	get tree(): Record<string, string> {
		return SYMBOLS[this.#symbols].tree ?? {};
	}
	get boxRound(): Record<string, string> {
		return SYMBOLS[this.#symbols].boxRound ?? {};
	}
	get boxSharp(): Record<string, string> {
		return SYMBOLS[this.#symbols].boxSharp ?? {};
	}
	get sep(): Record<string, string> {
		return SYMBOLS[this.#symbols].sep ?? {};
	}
	get icon(): Record<string, string> {
		return SYMBOLS[this.#symbols].icon ?? {};
	}
	get thinking(): Record<string, string> {
		return SYMBOLS[this.#symbols].thinking ?? {};
	}
	get checkbox(): Record<string, string> {
		return SYMBOLS[this.#symbols].checkbox ?? {};
	}
	get todo(): Record<string, string> {
		return SYMBOLS[this.#symbols].todo ?? {};
	}
	get format(): Record<string, string> {
		return SYMBOLS[this.#symbols].format ?? {};
	}
	get md(): Record<string, string> {
		return SYMBOLS[this.#symbols].md ?? {};
	}
}

const themes = new Map<string, Theme>();

/** One of Pier's own themes by name; `undefined` for any other name. */
export function namedTheme(name: string): Theme | undefined {
	let theme = themes.get(name);
	if (theme === undefined) {
		const palette = Object.hasOwn(PALETTES, name) ? PALETTES[name] : undefined;
		if (palette === undefined) return undefined;
		theme = new Theme(palette);
		themes.set(name, theme);
	}
	return theme;
}

export function themeNames(): string[] {
	return Object.keys(PALETTES);
}

let active: Theme | undefined;

/** The theme in force. */
export function currentTheme(): Theme {
	active ??= namedTheme("dark") ?? new Theme();
	return active;
}

export function setCurrentTheme(theme: Theme): void {
	active = theme;
}
