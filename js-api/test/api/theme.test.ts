// The theme object (sdk-exports §2.3).

import assert from "node:assert/strict";
import { test } from "node:test";
import { currentTheme, namedTheme, Theme } from "../../src/api/theme.ts";
import { PALETTES } from "../../src/api/theme-palette.ts";

const FOREGROUND =
	"accent border borderAccent borderMuted success error warning muted dim text thinkingText userMessageText customMessageText customMessageLabel toolTitle toolOutput mdHeading mdLink mdLinkUrl mdCode mdCodeBlock mdCodeBlockBorder mdQuote mdQuoteBorder mdHr mdListBullet toolDiffAdded toolDiffRemoved toolDiffContext syntaxComment syntaxKeyword syntaxFunction syntaxVariable syntaxString syntaxNumber syntaxType syntaxOperator syntaxPunctuation thinkingOff thinkingMinimal thinkingLow thinkingMedium thinkingHigh thinkingXhigh bashMode scrollbarTrack scrollbarThumb searchMatchText thinkingMax chromeAccent spinnerAccent contentAccent gutterSuccess gutterError gutterWarning syntaxControl pythonMode".split(
		" ",
	);
const BACKGROUND =
	"selectedBg userMessageBg customMessageBg toolPendingBg toolSuccessBg toolErrorBg searchMatchBg statusLineBg".split(
		" ",
	);

test("every token of the family exists in both palettes and gives a sequence", () => {
	for (const name of ["dark", "light"]) {
		const theme = namedTheme(name);
		assert.ok(theme);
		for (const token of FOREGROUND) {
			assert.match(theme.getFgAnsi(token), /^\x1b\[(38;2;\d+;\d+;\d+|39)m$/, `${name} ${token}`);
			assert.ok(theme.fg(token, "txt").endsWith("txt\x1b[39m"));
		}
		for (const token of BACKGROUND) {
			assert.match(theme.getBgAnsi(token), /^\x1b\[48;2;\d+;\d+;\d+m$/, `${name} ${token}`);
			assert.ok(theme.bg(token, "txt").endsWith("txt\x1b[49m"));
		}
	}
});

test("unknown tokens give plain text, also names of Object members", () => {
	const theme = currentTheme();
	assert.equal(theme.fg("noSuchToken", "txt"), "txt");
	assert.equal(theme.fg("constructor", "txt"), "txt");
	assert.equal(theme.bg("toString", "txt"), "txt");
	assert.equal(theme.getFgAnsi("noSuchToken"), "");
});

test("text styles", () => {
	const theme = currentTheme();
	assert.equal(theme.bold("x"), "\x1b[1mx\x1b[22m");
	assert.equal(theme.italic("x"), "\x1b[3mx\x1b[23m");
	assert.equal(theme.underline("x"), "\x1b[4mx\x1b[24m");
	assert.equal(theme.inverse("x"), "\x1b[7mx\x1b[27m");
	assert.equal(theme.strikethrough("x"), "\x1b[9mx\x1b[29m");
	assert.equal(theme.style("x", { bold: true, fg: "nope" }), "\x1b[1mx\x1b[22m");
	assert.equal(theme.getThinkingBorderColor("high")("x"), theme.fg("thinkingHigh", "x"));
	assert.equal(theme.getThinkingBorderColor("weird")("x"), theme.fg("thinkingOff", "x"));
	assert.equal(theme.getBashModeBorderColor()("x"), theme.fg("bashMode", "x"));
});

test("256 colours pick the nearest entry", () => {
	const palette = {
		...PALETTES.dark,
		name: "t",
		appearance: "dark" as const,
		fg: { a: "#ff0000", g: "#808080", k: "#000000" },
		bg: {},
	};
	const theme = new Theme(palette, "256color");
	assert.equal(theme.getFgAnsi("a"), "\x1b[38;5;196m");
	assert.equal(theme.getFgAnsi("g"), "\x1b[38;5;244m");
	assert.equal(theme.getFgAnsi("k"), "\x1b[38;5;16m");
	assert.equal(theme.getColorMode(), "256color");
	assert.equal(theme.getFgHex("a"), "#ff0000");
});

test("symbols and spinners", () => {
	const theme = currentTheme();
	assert.equal(theme.symbol("status.success"), theme.status.success);
	assert.equal(theme.symbol("no.such"), "");
	assert.equal(theme.symbol("plain"), "");
	assert.ok(theme.spinnerFrames.length > 1);
	assert.ok(theme.getSpinnerFrames("activity").length > 1);
	assert.equal(theme.getLangIcon("TypeScript"), "TS");
	const ascii = new Theme(PALETTES.dark, "truecolor", "ascii");
	assert.match(ascii.symbol("boxRound.topLeft"), /^[\x20-\x7e]$/);
});
