// `ctx.ui` (§8): one object for all frontends. Methods that a frontend lacks return the default of §8.2 and never throw; the one exception
// is `custom`, which rejects with a typed error where the frontend has people but no components, unless the host asks for `undefined`.

import { UnsupportedUiError } from "../errors.ts";
import { isRecord } from "../json.ts";
import type { UiFlavor } from "../protocol.ts";
import { type CustomOptions, runCustom } from "./custom.ts";
import { createDialogs } from "./dialogs.ts";
import type { UiEnv } from "./env.ts";
import { createFooterData } from "./footer-data.ts";
import { createThemeMembers } from "./themes.ts";

const TERMINAL: readonly UiFlavor[] = ["tui"];
const FRAMES: readonly UiFlavor[] = ["tui", "rpc"];
const NOTICES: readonly UiFlavor[] = ["tui", "rpc", "acp"];

const NOTIFY_TYPES: readonly unknown[] = ["info", "warning", "error"];
const PLACEMENTS: readonly unknown[] = ["aboveEditor", "belowEditor"];

export function createUi(env: UiEnv) {
	/** A terminal-only frame; over RPC the frontend is told once that it is missing something. */
	const terminalOnly = (method: string, fields: Record<string, unknown>) => {
		env.guard();
		if (!env.send(TERMINAL, method, fields)) env.unsupported(method);
	};
	/** A part of the UI made of components. Clearing it where there are none is no use of it. */
	const componentSlot = (method: "setHeader" | "setFooter", factory: unknown, ...more: unknown[]) => {
		env.guard();
		if (!env.hasComponents) {
			if (typeof factory === "function") env.unsupported(method);
			return;
		}
		const mounted = env.record.slots.set(env, method, factory, ...more);
		env.send(FRAMES, method, mounted === undefined ? {} : { component: mounted.id });
	};
	const unavailable = (method: string, factory: unknown) => {
		env.guard();
		if (typeof factory === "function") env.unsupported(method);
	};

	const themes = createThemeMembers(env);
	const ui = {
		...createDialogs(env),
		notify(message: string, type?: string): void {
			env.guard();
			env.send(NOTICES, "notify", {
				message: String(message),
				// A kind that the family does not know is shown as information.
				...(NOTIFY_TYPES.includes(type) ? { notifyType: type } : {}),
			});
		},
		setStatus(key: string, text?: string): void {
			env.guard();
			env.send(NOTICES, "setStatus", {
				statusKey: String(key),
				...(text === undefined || text === null ? {} : { statusText: String(text) }),
			});
		},
		setWidget(key: string, content?: unknown, options?: { placement?: string }): void {
			env.guard();
			const placement = PLACEMENTS.includes(options?.placement) ? { widgetPlacement: options?.placement } : {};
			if (typeof content === "function" && !env.hasComponents) {
				env.unsupported("setWidget");
				return;
			}
			if (env.hasComponents) {
				const mounted = env.record.slots.set(env, `setWidget:${key}`, content);
				if (mounted !== undefined) {
					env.send(FRAMES, "setWidget", { widgetKey: String(key), component: mounted.id, ...placement });
					return;
				}
			}
			const lines = Array.isArray(content) ? content.map(String) : undefined;
			env.send(FRAMES, "setWidget", {
				widgetKey: String(key),
				...(lines === undefined ? {} : { widgetLines: lines }),
				...placement,
			});
		},
		setTitle(title: string): void {
			env.guard();
			env.send(FRAMES, "setTitle", { title: String(title) });
		},
		setEditorText(text: string): void {
			env.guard();
			env.send(FRAMES, "setEditorText", { text: String(text) });
		},
		pasteToEditor(text: string): void {
			env.guard();
			env.send(FRAMES, "pasteToEditor", { text: String(text) });
		},
		getEditorText(): string {
			env.guard();
			const text = env.ask("editorText");
			return typeof text === "string" ? text : "";
		},
		setWorkingMessage: (text?: string) =>
			terminalOnly("setWorkingMessage", text === undefined ? {} : { text: String(text) }),
		setWorkingVisible: (visible: boolean) => terminalOnly("setWorkingVisible", { visible: Boolean(visible) }),
		setWorkingIndicator: (options?: { frames?: string[]; intervalMs?: number }) =>
			terminalOnly("setWorkingIndicator", {
				...(Array.isArray(options?.frames) ? { frames: options.frames.map(String) } : {}),
				...(options?.intervalMs !== undefined && options.intervalMs > 0
					? { intervalMs: Math.max(1, Math.ceil(options.intervalMs)) }
					: {}),
			}),
		setHiddenThinkingLabel: (label?: string) =>
			terminalOnly("setHiddenThinkingLabel", label === undefined ? {} : { label: String(label) }),
		setHeader: (factory?: unknown) => componentSlot("setHeader", factory),
		setFooter: (factory?: unknown) => componentSlot("setFooter", factory, createFooterData(env)),
		setEditorComponent: (factory?: unknown) => unavailable("setEditorComponent", factory),
		getEditorComponent(): undefined {
			env.guard();
		},
		addAutocompleteProvider: (factory?: unknown) => unavailable("addAutocompleteProvider", factory),
		onTerminalInput(handler: unknown): () => void {
			env.guard();
			if (typeof handler !== "function") throw new TypeError("ui.onTerminalInput: handler must be a function");
			env.unsupported("onTerminalInput");
			return () => {};
		},
		async custom(factory: unknown, options?: unknown): Promise<unknown> {
			env.guard();
			if (typeof factory !== "function") throw new TypeError("ui.custom: factory must be a function");
			if (env.flavor !== "rpc" && env.flavor !== "tui") return undefined;
			if (env.hasComponents) {
				return runCustom(env, factory as never, isRecord(options) ? (options as CustomOptions) : {});
			}
			env.unsupported("custom");
			if (env.runtime.bound?.ui?.custom === "undefined") return undefined;
			throw new UnsupportedUiError(
				"custom",
				"this frontend cannot draw components. Check ctx.mode, or use select, confirm, input or editor",
			);
		},
		getToolsExpanded(): boolean {
			env.guard();
			return env.ask("toolsExpanded") === true;
		},
		setToolsExpanded: (expanded: boolean) => {
			env.guard();
			env.send(TERMINAL, "setToolsExpanded", { expanded: Boolean(expanded) });
		},
		getAllThemes: themes.getAllThemes,
		getTheme: themes.getTheme,
		setTheme: themes.setTheme,
		get theme() {
			return themes.theme;
		},
	};
	return ui;
}

export type ExtensionUi = ReturnType<typeof createUi>;
