// Default keys of the application's actions, next to the component library's own, and texts that name keys.
// The ids and keys are those of the pi family: extensions name them in hints and in `keybindings.matches(data, id)`.

import {
	getKeybindings,
	type Keybinding,
	type KeyId,
	KeybindingsManager as BaseManager,
	type KeybindingsConfig,
	setKeybindings,
	TUI_KEYBINDINGS,
} from "@earendil-works/pi-tui";
import { currentTheme } from "../../api/theme.ts";

const APP_KEYS: Readonly<Record<string, KeyId | KeyId[]>> = {
	"app.interrupt": "escape",
	"app.clear": "ctrl+c",
	"app.exit": "ctrl+d",
	"app.suspend": "ctrl+z",
	"app.thinking.cycle": "shift+tab",
	"app.thinking.save": "ctrl+s",
	"app.thinking.toggle": "ctrl+t",
	"app.model.cycleForward": "ctrl+p",
	"app.model.cycleBackward": "shift+ctrl+p",
	"app.model.select": "ctrl+l",
	"app.models.save": "ctrl+s",
	"app.models.enableAll": "ctrl+a",
	"app.models.clearAll": "ctrl+x",
	"app.models.toggleProvider": "ctrl+p",
	"app.models.reorderUp": "alt+up",
	"app.models.reorderDown": "alt+down",
	"app.tools.expand": "ctrl+o",
	"app.editor.external": "ctrl+g",
	"app.message.copy": "ctrl+x",
	"app.message.followUp": "alt+enter",
	"app.message.dequeue": "alt+up",
	"app.clipboard.pasteImage": "ctrl+v",
	"app.session.new": [],
	"app.session.tree": [],
	"app.session.fork": [],
	"app.session.resume": [],
	"app.session.toggleNamedFilter": "ctrl+n",
	"app.session.togglePath": "ctrl+p",
	"app.session.toggleSort": "ctrl+s",
	"app.session.rename": "ctrl+r",
	"app.session.delete": "ctrl+d",
	"app.session.deleteNoninvasive": "ctrl+backspace",
	"app.tree.foldOrUp": ["ctrl+left", "alt+left"],
	"app.tree.unfoldOrDown": ["ctrl+right", "alt+right"],
	"app.tree.editLabel": "shift+l",
	"app.tree.toggleLabelTimestamp": "shift+t",
	"app.tree.filter.default": "ctrl+d",
	"app.tree.filter.noTools": "ctrl+t",
	"app.tree.filter.userOnly": "ctrl+u",
	"app.tree.filter.labeledOnly": "ctrl+l",
	"app.tree.filter.all": "ctrl+a",
	"app.tree.filter.cycleForward": "ctrl+o",
	"app.tree.filter.cycleBackward": "shift+ctrl+o",
};

/** Actions by the short names that pi before 0.60, oh-my-pi and xcsh use. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
	interrupt: "app.interrupt",
	clear: "app.clear",
	exit: "app.exit",
	suspend: "app.suspend",
	cycleThinkingLevel: "app.thinking.cycle",
	toggleThinking: "app.thinking.toggle",
	cycleModelForward: "app.model.cycleForward",
	cycleModelBackward: "app.model.cycleBackward",
	selectModel: "app.model.select",
	expandTools: "app.tools.expand",
	externalEditor: "app.editor.external",
	followUp: "app.message.followUp",
	dequeue: "app.message.dequeue",
	pasteImage: "app.clipboard.pasteImage",
	selectUp: "tui.select.up",
	selectDown: "tui.select.down",
	selectPageUp: "tui.select.pageUp",
	selectPageDown: "tui.select.pageDown",
	selectConfirm: "tui.select.confirm",
	selectCancel: "tui.select.cancel",
	submit: "tui.input.submit",
	newLine: "tui.input.newLine",
	tab: "tui.input.tab",
	copy: "tui.input.copy",
};

function definitions() {
	const app = Object.fromEntries(Object.entries(APP_KEYS).map(([id, defaultKeys]) => [id, { defaultKeys }]));
	return { ...TUI_KEYBINDINGS, ...app };
}

/** Bindings of the component library and of the application. `user` replaces the keys of single ids. */
export class KeybindingsManager extends BaseManager {
	constructor(user: KeybindingsConfig = {}) {
		super(definitions(), user);
	}

	static inMemory(user: KeybindingsConfig = {}): KeybindingsManager {
		return new KeybindingsManager(user);
	}
}

setKeybindings(new KeybindingsManager());

/** Keys of an action, as a person would read them; empty when it has none. */
export function keyText(binding: string): string {
	const id = (SHORT_NAMES[binding] ?? binding) as Keybinding;
	return getKeybindings().getKeys(id).map(formatKey).join("/");
}

function formatKey(key: string): string {
	return key
		.split("+")
		.map((part) => (part === "escape" ? "esc" : part))
		.join("+");
}

/** `keys description`, the keys dim and the description muted, in the current theme. */
export function rawKeyHint(key: string, description: string): string {
	const theme = currentTheme();
	return theme.fg("dim", formatKey(key)) + theme.fg("muted", ` ${description}`);
}

/** Like `rawKeyHint`, for the keys of an action. */
export function keyHint(binding: string, description: string): string {
	const theme = currentTheme();
	return theme.fg("dim", keyText(binding)) + theme.fg("muted", ` ${description}`);
}

/** Keys of an action in an explicit set of bindings (older editions). */
export function appKey(keybindings: { getKeys(id: Keybinding): readonly string[] }, action: string): string {
	return keybindings
		.getKeys((SHORT_NAMES[action] ?? action) as Keybinding)
		.map(formatKey)
		.join("/");
}

export function appKeyHint(
	keybindings: { getKeys(id: Keybinding): readonly string[] },
	action: string,
	description: string,
): string {
	const theme = currentTheme();
	return theme.fg("dim", appKey(keybindings, action)) + theme.fg("muted", ` ${description}`);
}

/** Keys of an editor action by its old name. */
export const editorKey = keyText;
