// The multi-line editor with both constructors: pi `(tui, theme, options?)` and xcsh `(theme)`.

import { Editor as BaseEditor, type EditorOptions, type EditorTheme, type TUI } from "@earendil-works/pi-tui";

/** What the editor needs of a terminal when an extension gives it none: fixed size, nothing to redraw. */
const DETACHED_TUI = {
	requestRender(): void {},
	terminal: { rows: 24, columns: 80 },
} as unknown as TUI;

function isTui(value: unknown): value is TUI {
	return typeof value === "object" && value !== null && "requestRender" in value;
}

export class Editor extends BaseEditor {
	constructor(tui: TUI, theme: EditorTheme, options?: EditorOptions);
	constructor(theme: EditorTheme, options?: EditorOptions);
	constructor(first: TUI | EditorTheme, second?: EditorTheme | EditorOptions, options?: EditorOptions) {
		if (isTui(first)) super(first, second as EditorTheme, options);
		else super(DETACHED_TUI, first, second as EditorOptions | undefined);
	}

	/** xcsh's name of `insertTextAtCursor`. */
	insertText(text: string): void {
		this.insertTextAtCursor(text);
	}
}
