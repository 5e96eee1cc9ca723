// Markdown with both meanings of the last constructor argument: pi's options object and xcsh's indent of code blocks.

import {
	Markdown as BaseMarkdown,
	type DefaultTextStyle,
	type MarkdownOptions,
	type MarkdownTheme,
} from "@earendil-works/pi-tui";

export class Markdown extends BaseMarkdown {
	/** @param options pi: options; xcsh: number of columns by which code blocks are indented. */
	constructor(
		text: string,
		paddingX: number,
		paddingY: number,
		theme: MarkdownTheme,
		defaultTextStyle?: DefaultTextStyle,
		options?: MarkdownOptions | number,
	) {
		if (typeof options === "number") {
			super(
				text,
				paddingX,
				paddingY,
				{ ...theme, codeBlockIndent: " ".repeat(Math.max(0, options)) },
				defaultTextStyle,
			);
		} else {
			super(text, paddingX, paddingY, theme, defaultTextStyle, options);
		}
	}
}
