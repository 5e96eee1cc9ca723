// The names that key bindings of editors had before the library unified them (pi 0.58, oh-my-pi).

import { type Keybinding, type KeybindingsManager, getKeybindings, setKeybindings } from "@earendil-works/pi-tui";

/** Old action name -> today's id. */
const CURRENT: Readonly<Record<string, Keybinding>> = {
	cursorUp: "tui.editor.cursorUp",
	cursorDown: "tui.editor.cursorDown",
	cursorLeft: "tui.editor.cursorLeft",
	cursorRight: "tui.editor.cursorRight",
	cursorWordLeft: "tui.editor.cursorWordLeft",
	cursorWordRight: "tui.editor.cursorWordRight",
	cursorLineStart: "tui.editor.cursorLineStart",
	cursorLineEnd: "tui.editor.cursorLineEnd",
	deleteCharBackward: "tui.editor.deleteCharBackward",
	deleteCharForward: "tui.editor.deleteCharForward",
	deleteWordBackward: "tui.editor.deleteWordBackward",
	deleteWordForward: "tui.editor.deleteWordForward",
	deleteToLineStart: "tui.editor.deleteToLineStart",
	deleteToLineEnd: "tui.editor.deleteToLineEnd",
	pageUp: "tui.editor.pageUp",
	pageDown: "tui.editor.pageDown",
	undo: "tui.editor.undo",
	yank: "tui.editor.yank",
	yankPop: "tui.editor.yankPop",
	newLine: "tui.input.newLine",
	submit: "tui.input.submit",
	tab: "tui.input.tab",
	copy: "tui.input.copy",
	selectUp: "tui.select.up",
	selectDown: "tui.select.down",
	selectPageUp: "tui.select.pageUp",
	selectPageDown: "tui.select.pageDown",
	selectConfirm: "tui.select.confirm",
	selectCancel: "tui.select.cancel",
};

/** Answers questions about old names from the current bindings. Ids of today are accepted as well. */
export class EditorKeybindingsManager {
	private readonly manager: KeybindingsManager | undefined;

	/** @param manager defaults to the process-wide bindings, looked up at each question. */
	constructor(manager?: KeybindingsManager) {
		this.manager = manager;
	}

	matches(data: string, action: string): boolean {
		return this.current().matches(data, (CURRENT[action] ?? action) as Keybinding);
	}

	getKeys(action: string): string[] {
		return [...this.current().getKeys((CURRENT[action] ?? action) as Keybinding)];
	}

	/** The bindings that this object answers from. */
	current(): KeybindingsManager {
		return this.manager ?? getKeybindings();
	}
}

const shared = new EditorKeybindingsManager();

export function getEditorKeybindings(): EditorKeybindingsManager {
	return shared;
}

export function setEditorKeybindings(manager: EditorKeybindingsManager | KeybindingsManager): void {
	setKeybindings(manager instanceof EditorKeybindingsManager ? manager.current() : manager);
}
