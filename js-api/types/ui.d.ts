// `ctx.ui` and what it takes: components, themes, dialogs.

/** Something that draws lines. The component library's classes are such; an object with `render` and `invalidate` is enough. */
export interface Component {
	/** Lines of at most `width` columns. Synchronous. */
	render(width: number): readonly string[];
	handleInput?(data: string): void;
	/** Drops what was cached, because the theme or the size changed. */
	invalidate(): void;
	wantsKeyRelease?: boolean;
	focused?: boolean;
	dispose?(): void;
}

export interface Theme {
	readonly name?: string | undefined;
	/** Text in a foreground colour of the theme. */
	fg(token: string, text: string): string;
	bg(token: string, text: string): string;
	bold(text: string): string;
	italic(text: string): string;
	underline(text: string): string;
	inverse(text: string): string;
	strikethrough(text: string): string;
	getFgAnsi(token: string): string;
	getBgAnsi(token: string): string;
	getColorMode(): "truecolor" | "256color";
	getThinkingBorderColor(level: string): (text: string) => string;
	getBashModeBorderColor(): (text: string) => string;
}

/** The screen, as factories get it. */
export interface TUI {
	requestRender(force?: boolean): void;
	readonly terminal: { readonly rows: number; readonly columns: number };
	setFocus(component: Component | null): void;
	showOverlay(component: Component, options?: OverlayOptions): OverlayHandle;
	addInputListener(listener: (data: string) => { consume?: boolean; data?: string } | undefined): () => void;
}

export interface OverlayOptions {
	/** Columns, or a share such as `"50%"`; the same for the other sizes. */
	width?: number | string;
	minWidth?: number;
	maxHeight?: number | string;
	anchor?: string;
	offsetX?: number;
	offsetY?: number;
	row?: number | string;
	col?: number | string;
	visible?: (width: number, height: number) => boolean;
}

export interface OverlayHandle {
	hide(): void;
	setHidden(hidden: boolean): void;
	isHidden(): boolean;
}

export interface KeybindingsManager {
	matches(data: string, id: string): boolean;
	getKeys(id: string): readonly string[];
}

export interface DialogOptions {
	signal?: AbortSignal;
	/** Milliseconds; then the dialog answers as if it was cancelled. */
	timeout?: number;
	/** (xcsh) The remaining members. */
	onTimeout?: () => void;
	initialIndex?: number;
	onLeft?: () => void;
	onRight?: () => void;
	helpText?: string;
}

export type WidgetPlacement = "aboveEditor" | "belowEditor";
export type ComponentFactory = (tui: TUI, theme: Theme) => Component;

export interface WorkingIndicatorOptions {
	/** Empty hides the indicator. */
	frames?: string[];
	intervalMs?: number;
}

/** (pi) Third argument of a footer factory. */
export interface ReadonlyFooterDataProvider {
	getGitBranch(): string | null;
	getExtensionStatuses(): ReadonlyMap<string, string>;
	getAvailableProviderCount(): number;
	onBranchChange(callback: () => void): () => void;
}

export interface ExtensionUIContext {
	/** The chosen option; `undefined` when cancelled. */
	select(title: string, options: readonly string[], dialog?: DialogOptions): Promise<string | undefined>;
	confirm(title: string, message: string, dialog?: DialogOptions): Promise<boolean>;
	input(title: string, placeholder?: string, dialog?: DialogOptions): Promise<string | undefined>;
	/** Text of several lines. */
	editor(title: string, prefill?: string, dialog?: DialogOptions): Promise<string | undefined>;
	notify(message: string, type?: "info" | "warning" | "error"): void;
	/** A segment of the status line by key; `undefined` removes it. */
	setStatus(key: string, text: string | undefined): void;
	/** Without text the default comes back. */
	setWorkingMessage(text?: string): void;
	setWorkingVisible(visible: boolean): void;
	setWorkingIndicator(options?: WorkingIndicatorOptions): void;
	setHiddenThinkingLabel(label?: string): void;
	setWidget(
		key: string,
		content: readonly string[] | ComponentFactory | undefined,
		options?: { placement?: WidgetPlacement },
	): void;
	setHeader(factory: ComponentFactory | undefined): void;
	setFooter(factory: ((tui: TUI, theme: Theme, data: ReadonlyFooterDataProvider) => Component) | undefined): void;
	setEditorComponent(factory: ((tui: TUI, theme: never, keybindings: never) => Component) | undefined): void;
	setTitle(title: string): void;
	/**
	 * Shows a component until it calls `done`. A frontend that cannot draw components rejects or answers `undefined`, as the host is set up.
	 */
	custom<T>(
		factory: (
			tui: TUI,
			theme: Theme,
			keybindings: KeybindingsManager,
			done: (value: T) => void,
		) => Component | Promise<Component>,
		options?: {
			overlay?: boolean;
			overlayOptions?: OverlayOptions | (() => OverlayOptions);
			onHandle?: (handle: OverlayHandle) => void;
		},
	): Promise<T>;
	setEditorText(text: string): void;
	getEditorText(): string;
	pasteToEditor(text: string): void;
	/** Sees terminal input before the focused component. */
	onTerminalInput(handler: (data: string) => { consume?: boolean; data?: string } | undefined): () => void;
	readonly theme: Theme;
	getToolsExpanded(): boolean;
	setToolsExpanded(expanded: boolean): void;
}
