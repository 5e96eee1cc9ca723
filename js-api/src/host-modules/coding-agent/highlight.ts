// Syntax colours for code in terminals. The grammar library is evaluated at the first use: most isolates never highlight anything.

import { currentTheme } from "../../api/theme.ts";
import { loadHighlighter } from "./highlight-grammars.ts";
import { languageOfExtension, languageOfName } from "./languages.ts";

/** Longest code that is coloured, in UTF-16 units; beyond it a person scrolls, and grammars get slow. */
const LIMIT = 200_000;

/** First part of a grammar's scope name -> theme token. */
const TOKENS: Readonly<Record<string, string>> = {
	comment: "syntaxComment",
	quote: "syntaxComment",
	doctag: "syntaxComment",
	keyword: "syntaxKeyword",
	"selector-tag": "syntaxKeyword",
	tag: "syntaxKeyword",
	name: "syntaxFunction",
	built_in: "syntaxType",
	type: "syntaxType",
	class: "syntaxType",
	title: "syntaxFunction",
	function: "syntaxFunction",
	section: "syntaxFunction",
	string: "syntaxString",
	regexp: "syntaxString",
	symbol: "syntaxString",
	char: "syntaxString",
	number: "syntaxNumber",
	literal: "syntaxNumber",
	variable: "syntaxVariable",
	attr: "syntaxVariable",
	attribute: "syntaxVariable",
	params: "syntaxVariable",
	property: "syntaxVariable",
	"template-variable": "syntaxVariable",
	operator: "syntaxOperator",
	punctuation: "syntaxPunctuation",
	meta: "syntaxKeyword",
	addition: "toolDiffAdded",
	deletion: "toolDiffRemoved",
};

const ENTITIES: Readonly<Record<string, string>> = {
	"&amp;": "&",
	"&lt;": "<",
	"&gt;": ">",
	"&quot;": '"',
	"&#x27;": "'",
	"&#39;": "'",
};

function plain(code: string): string[] {
	const theme = currentTheme();
	return code.split("\n").map((line) => theme.fg("mdCodeBlock", line));
}

/** The grammar library answers with HTML of `<span class="hljs-x">`; this turns it into ANSI, colouring each line on its own. */
function toLines(html: string): string[] {
	const theme = currentTheme();
	const scopes: (string | undefined)[] = [];
	const lines: string[] = [""];
	for (const [piece] of html.matchAll(/<span class="[^"]*">|<\/span>|[^<]+|</g)) {
		if (piece === "</span>") scopes.pop();
		else if (piece.startsWith("<span")) {
			const name = /hljs-([a-z_-]+)/.exec(piece)?.[1];
			scopes.push(name === undefined ? undefined : TOKENS[name]);
		} else {
			const token = scopes.findLast((scope) => scope !== undefined);
			const text = piece.replace(/&(?:amp|lt|gt|quot|#x27|#39);/g, (entity) => ENTITIES[entity] ?? entity);
			const [first = "", ...rest] = text.split("\n");
			const paint = (part: string) => (part === "" || token === undefined ? part : theme.fg(token, part));
			lines[lines.length - 1] += paint(first);
			for (const part of rest) lines.push(paint(part));
		}
	}
	return lines;
}

/** Coloured lines of `code`. Without a known language the lines come back in the code block's colour. Never throws. */
export function highlightCode(code: string, language?: string): string[] {
	const name = language === undefined ? undefined : languageOfName(language);
	if (name === undefined || code.length > LIMIT) return plain(code);
	const library = loadHighlighter();
	if (library.getLanguage(name) === undefined) return plain(code);
	try {
		return toLines(library.highlight(code, { language: name, ignoreIllegals: true }).value);
	} catch {
		return plain(code);
	}
}

/** Language of a file by its name; `undefined` when unknown. */
export function getLanguageFromPath(path: string): string | undefined {
	return languageOfExtension(path);
}
