// Dialogs as components: what `ctx.ui.select`, `input` and `editor` draw, for extensions that embed them in their own.

import {
	Container,
	type EditorOptions,
	type Focusable,
	getKeybindings,
	Input,
	type Keybinding,
	type KeybindingsManager,
	Spacer,
	Text,
	type TUI,
} from "@earendil-works/pi-tui";
import { currentTheme } from "../../../api/theme.ts";
import { Editor } from "../../pi-tui/editor.ts";
import { getEditorTheme } from "../component-themes.ts";
import { keyHint } from "../keybindings.ts";
import { DynamicBorder } from "./dynamic-border.ts";

export interface DialogOptions {
	tui?: TUI;
	/** Milliseconds after which the dialog cancels itself. */
	timeout?: number;
	description?: string;
}

const VISIBLE_OPTIONS = 10;

const matches = (data: string, id: Keybinding): boolean => getKeybindings().matches(data, id);

/** A title that counts down while the dialog has a timeout. */
class Countdown {
	private remaining: number;
	private readonly timer: ReturnType<typeof setInterval>;

	constructor(milliseconds: number, tick: (seconds: number) => void, expired: () => void) {
		this.remaining = Math.ceil(milliseconds / 1000);
		tick(this.remaining);
		this.timer = setInterval(() => {
			this.remaining -= 1;
			if (this.remaining > 0) {
				tick(this.remaining);
				return;
			}
			this.stop();
			expired();
		}, 1000);
	}

	stop(): void {
		clearInterval(this.timer);
	}
}

abstract class Dialog extends Container {
	private readonly titleText: Text;
	private readonly title: string;
	private readonly countdown: Countdown | undefined;

	constructor(title: string, cancel: () => void, options: DialogOptions) {
		super();
		this.title = title;
		this.titleText = new Text(currentTheme().fg("accent", title), 1, 0);
		this.addChild(new DynamicBorder());
		this.addChild(new Spacer(1));
		this.addChild(this.titleText);
		if (options.description) this.addChild(new Text(currentTheme().fg("muted", options.description), 1, 0));
		this.addChild(new Spacer(1));
		if (options.timeout !== undefined && options.timeout > 0 && options.tui !== undefined) {
			const { tui } = options;
			this.countdown = new Countdown(
				options.timeout,
				(seconds) => {
					this.titleText.setText(currentTheme().fg("accent", `${this.title} (${seconds}s)`));
					tui.requestRender();
				},
				cancel,
			);
		}
	}

	/** Adds what stands below the dialog's own part. */
	protected finish(hints: string): void {
		this.addChild(new Spacer(1));
		this.addChild(new Text(hints, 1, 0));
		this.addChild(new Spacer(1));
		this.addChild(new DynamicBorder());
	}

	/** Stops the countdown. */
	dispose(): void {
		this.countdown?.stop();
	}
}

export class ExtensionSelectorComponent extends Dialog {
	private readonly choices: readonly string[];
	private readonly onSelect: (choice: string) => void;
	private readonly onCancel: () => void;
	private readonly list = new Container();
	private selected = 0;

	constructor(
		title: string,
		choices: readonly string[],
		onSelect: (choice: string) => void,
		onCancel: () => void,
		options: DialogOptions & { onToggleToolsExpanded?: () => void } = {},
	) {
		super(title, onCancel, options);
		this.choices = choices;
		this.onSelect = onSelect;
		this.onCancel = onCancel;
		this.addChild(this.list);
		this.finish(`${keyHint("tui.select.confirm", "select")}  ${keyHint("tui.select.cancel", "cancel")}`);
		this.redraw();
	}

	private redraw(): void {
		const theme = currentTheme();
		this.list.clear();
		const first = Math.max(
			0,
			Math.min(this.selected - Math.floor(VISIBLE_OPTIONS / 2), this.choices.length - VISIBLE_OPTIONS),
		);
		for (const [offset, choice] of this.choices.slice(first, first + VISIBLE_OPTIONS).entries()) {
			const current = first + offset === this.selected;
			this.list.addChild(new Text(current ? theme.fg("accent", `→ ${choice}`) : `  ${theme.fg("text", choice)}`, 1, 0));
		}
		if (this.choices.length > VISIBLE_OPTIONS) {
			this.list.addChild(new Text(theme.fg("muted", `  (${this.selected + 1}/${this.choices.length})`), 1, 0));
		}
	}

	private move(step: number): void {
		const count = this.choices.length;
		if (count === 0) return;
		this.selected = (this.selected + step + count) % count;
		this.redraw();
	}

	handleInput(data: string): void {
		if (matches(data, "tui.select.up") || data === "k") this.move(-1);
		else if (matches(data, "tui.select.down") || data === "j") this.move(1);
		else if (matches(data, "tui.select.confirm") || data === "\n") {
			const choice = this.choices[this.selected];
			if (choice !== undefined) this.onSelect(choice);
		} else if (matches(data, "tui.select.cancel")) this.onCancel();
	}
}

export class ExtensionInputComponent extends Dialog implements Focusable {
	private readonly input: Input;
	private readonly onSubmit: (value: string) => void;
	private readonly onCancel: () => void;

	constructor(
		title: string,
		placeholder: string | undefined,
		onSubmit: (value: string) => void,
		onCancel: () => void,
		options: DialogOptions & { initialValue?: string } = {},
	) {
		super(title, onCancel, options);
		this.onSubmit = onSubmit;
		this.onCancel = onCancel;
		this.input = new Input(
			placeholder === undefined ? {} : { placeholder, placeholderStyle: (text) => currentTheme().fg("dim", text) },
		);
		if (options.initialValue !== undefined) this.input.setValue(options.initialValue);
		this.addChild(this.input);
		this.finish(`${keyHint("tui.select.confirm", "submit")}  ${keyHint("tui.select.cancel", "cancel")}`);
	}

	get focused(): boolean {
		return this.input.focused;
	}

	set focused(value: boolean) {
		this.input.focused = value;
	}

	handleInput(data: string): void {
		if (matches(data, "tui.select.confirm") || data === "\n") this.onSubmit(this.input.getValue());
		else if (matches(data, "tui.select.cancel")) this.onCancel();
		else this.input.handleInput(data);
	}
}

export class ExtensionEditorComponent extends Dialog implements Focusable {
	private readonly editor: Editor;
	private readonly onCancel: () => void;

	constructor(
		tui: TUI,
		_keybindings: Pick<KeybindingsManager, "matches">,
		title: string,
		prefill: string | undefined,
		onSubmit: (value: string) => void,
		onCancel: () => void,
		options: EditorOptions & { description?: string } = {},
	) {
		super(title, onCancel, options.description === undefined ? {} : { description: options.description });
		this.onCancel = onCancel;
		this.editor = new Editor(tui, getEditorTheme(), options);
		if (prefill !== undefined) this.editor.setText(prefill);
		this.editor.onSubmit = onSubmit;
		this.addChild(this.editor);
		this.finish(
			[
				keyHint("tui.input.submit", "submit"),
				keyHint("tui.input.newLine", "newline"),
				keyHint("tui.select.cancel", "cancel"),
			].join("  "),
		);
	}

	get focused(): boolean {
		return this.editor.focused;
	}

	set focused(value: boolean) {
		this.editor.focused = value;
	}

	handleInput(data: string): void {
		if (matches(data, "tui.select.cancel") && !this.editor.isShowingAutocomplete()) this.onCancel();
		else this.editor.handleInput(data);
	}
}
