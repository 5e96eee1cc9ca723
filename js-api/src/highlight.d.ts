// Types of the grammar library's deep entry points, which its own type files do not cover.

declare module "highlight.js/lib/core.js" {
	export type Grammar = (library: unknown) => unknown;
	export interface Highlighter {
		registerLanguage(name: string, grammar: Grammar): void;
		getLanguage(name: string): unknown;
		highlight(code: string, options: { language: string; ignoreIllegals?: boolean }): { value: string };
	}
	const library: Highlighter;
	export default library;
}

declare module "highlight.js/lib/languages/*" {
	const grammar: (library: unknown) => unknown;
	export default grammar;
}
