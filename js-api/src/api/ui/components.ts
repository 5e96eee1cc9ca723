// Components that live in this isolate and are drawn elsewhere. The host asks for lines when it wants a frame and sends keys; this side
// only says that a drawing is out of date. One bad component must never break another or the host.

import { hostCall } from "../../host.ts";
import type { ExtensionRecord } from "../record.ts";
import type { Runtime } from "../runtime.ts";
import type { Component } from "../types.ts";

/** How the host names a component. */
export interface ComponentHandle {
	ext: number;
	handle: number;
}

export interface ComponentHeader {
	handle: number;
	op: "render" | "input" | "invalidate" | "focus" | "blur" | "close";
	/** Columns and rows available; for `render` and whenever they change. */
	width?: number;
	height?: number;
	/** Raw terminal input; for `input`. */
	data?: string;
}

/** Size until the host says another. */
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/** Marker of the terminal library that shows where the cursor is; zero columns wide. */
const CURSOR_MARKER = "\x1b_pi:c\x07";

type InputListener = (data: string) => { consume?: boolean; data?: string } | undefined;

export class MountedComponent {
	readonly id: ComponentHandle;
	readonly record: ExtensionRecord;
	component: Component | undefined;
	/** Receives input instead of `component` when the extension moved the focus. */
	focused: Component | undefined;
	readonly listeners: InputListener[] = [];
	columns: number;
	rows: number;
	/** Called once when the host or the extension closes it. */
	onClose: (() => void) | undefined;
	readonly #table: ComponentTable;
	#announced = false;
	#closed = false;

	constructor(table: ComponentTable, record: ExtensionRecord, handle: number) {
		this.#table = table;
		this.record = record;
		this.id = { ext: record.ext, handle };
		const ui = table.runtime.bound?.ui;
		this.columns = ui?.columns ?? DEFAULT_COLUMNS;
		this.rows = ui?.rows ?? DEFAULT_ROWS;
	}

	get closed(): boolean {
		return this.#closed;
	}

	/** Tells the host, at most once until the next frame, that the drawing changed. */
	requestRender(): void {
		if (this.#announced || this.#closed || this.component === undefined) return;
		this.#announced = true;
		hostCall("ui", { ext: this.record.ext, method: "invalidate", component: this.id });
	}

	render(width: number): { lines: string[]; cursor?: { row: number; column: number } } {
		this.#announced = false;
		this.columns = width;
		const drawn: unknown = this.component?.render(width) ?? [];
		// The array may be cached by the component: it is copied, never changed.
		const lines = Array.isArray(drawn) ? drawn.map(String) : [];
		for (const [row, line] of lines.entries()) {
			const column = line.indexOf(CURSOR_MARKER);
			if (column < 0) continue;
			lines[row] = line.replaceAll(CURSOR_MARKER, "");
			return { lines, cursor: { row, column } };
		}
		return { lines };
	}

	input(data: string): void {
		let current = data;
		for (const listener of [...this.listeners]) {
			const outcome = listener(current);
			if (outcome?.consume) return;
			if (typeof outcome?.data === "string") current = outcome.data;
		}
		const target = this.focused ?? this.component;
		target?.handleInput?.(current);
		// Terminals draw again after a key; components rely on it.
		this.requestRender();
	}

	setFocused(focused: boolean): void {
		const target = (this.focused ?? this.component) as { focused?: boolean } | undefined;
		if (target !== undefined && "focused" in target) target.focused = focused;
	}

	close(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#table.remove(this.id.handle);
		try {
			this.component?.dispose?.();
		} catch (error) {
			this.#table.runtime.report(this.record.ext, "ui:dispose", error);
		}
		this.onClose?.();
	}
}

export class ComponentTable {
	readonly runtime: Runtime;
	readonly #mounted = new Map<number, MountedComponent>();

	constructor(runtime: Runtime) {
		this.runtime = runtime;
	}

	mount(record: ExtensionRecord): MountedComponent {
		const mounted = new MountedComponent(this, record, this.runtime.nextId());
		this.#mounted.set(mounted.id.handle, mounted);
		return mounted;
	}

	remove(handle: number): void {
		this.#mounted.delete(handle);
	}

	get size(): number {
		return this.#mounted.size;
	}

	/** Handles `component`. */
	handle(header: ComponentHeader): unknown {
		const mounted = this.#mounted.get(header.handle);
		// Closed here while the host's call was under way.
		if (mounted === undefined) return undefined;
		if (header.width !== undefined) mounted.columns = header.width;
		if (header.height !== undefined) mounted.rows = header.height;
		switch (header.op) {
			case "render":
				return mounted.render(header.width ?? mounted.columns);
			case "input":
				return mounted.input(header.data ?? "");
			case "invalidate":
				mounted.component?.invalidate?.();
				return undefined;
			case "focus":
			case "blur":
				return mounted.setFocused(header.op === "focus");
			default:
				return mounted.close();
		}
	}
}
