// The editor with the application's keys, made to be extended by `ctx.ui.setEditorComponent` factories.

import {
	type EditorOptions,
	type EditorTheme,
	getKeybindings,
	type Keybinding,
	type KeybindingsManager,
	matchesKey,
	type TUI,
} from "@earendil-works/pi-tui";
import { Editor } from "../../pi-tui/editor.ts";

export type CustomEditorOptions = EditorOptions & { embedWorkingStatus?: boolean };

/** Actions that are looked at before the editor's own keys. Escape and end-of-input have rules of their own below. */
const SPECIAL = new Set(["app.interrupt", "app.exit"]);

export class CustomEditor extends Editor {
	readonly embedWorkingStatus: boolean;
	/** Action id -> handler. */
	readonly actionHandlers = new Map<string, () => void>();
	onEscape?: () => void;
	onCtrlD?: () => void;
	onPasteImage?: () => void;
	/** Sees every key first; true means handled. */
	onExtensionShortcut?: (data: string) => boolean;
	private readonly keybindings: Pick<KeybindingsManager, "matches">;

	/** pi: `(tui, theme, keybindings, options?)`; xcsh: `(theme)`. */
	constructor(
		tui: TUI | EditorTheme,
		theme?: EditorTheme | EditorOptions,
		keybindings?: Pick<KeybindingsManager, "matches">,
		options: CustomEditorOptions = {},
	) {
		super(tui as TUI, theme as EditorTheme, options);
		this.keybindings = keybindings ?? getKeybindings();
		this.embedWorkingStatus = options.embedWorkingStatus ?? false;
	}

	onAction(action: string, handler: () => void): void {
		this.actionHandlers.set(action, handler);
	}

	override handleInput(data: string): void {
		if (this.onExtensionShortcut?.(data)) return;
		const pressed = (id: string) => this.keybindings.matches(data, id as Keybinding);
		if (pressed("app.clipboard.pasteImage") && this.onPasteImage !== undefined) {
			this.onPasteImage();
			return;
		}
		// Escape first closes the completion menu, which the editor itself does.
		if ((pressed("app.interrupt") || matchesKey(data, "escape")) && !this.isShowingAutocomplete()) {
			const handler = this.onEscape ?? this.actionHandlers.get("app.interrupt");
			if (handler !== undefined) {
				handler();
				return;
			}
		}
		// With text in the editor the same key deletes forward.
		if (pressed("app.exit") && this.getText() === "") {
			(this.onCtrlD ?? this.actionHandlers.get("app.exit"))?.();
			return;
		}
		for (const [action, handler] of this.actionHandlers) {
			if (!SPECIAL.has(action) && pressed(action)) {
				handler();
				return;
			}
		}
		super.handleInput(data);
	}
}
