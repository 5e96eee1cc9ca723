// A loader between two rules, which Escape cancels.

import { CancellableLoader, Container, Loader, Spacer, Text, type TUI } from "@earendil-works/pi-tui";
import type { Theme } from "../../../api/theme.ts";
import { keyHint } from "../keybindings.ts";
import { DynamicBorder } from "./dynamic-border.ts";

export class BorderedLoader extends Container {
	private readonly loader: Loader;
	private readonly cancellable: CancellableLoader | undefined;
	private readonly neverAborted = new AbortController();

	/** @param options `cancellable: false` hides the hint and ignores Escape */
	constructor(tui: TUI, theme: Theme, message: string, options: { cancellable?: boolean } = {}) {
		super();
		const accent = (text: string) => theme.fg("accent", text);
		const muted = (text: string) => theme.fg("muted", text);
		const border = (text: string) => theme.fg("border", text);
		if (options.cancellable ?? true) {
			this.cancellable = new CancellableLoader(tui, accent, muted, message);
			this.loader = this.cancellable;
		} else {
			this.loader = new Loader(tui, accent, muted, message);
		}
		this.addChild(new DynamicBorder(border));
		this.addChild(this.loader);
		if (this.cancellable !== undefined) {
			this.addChild(new Spacer(1));
			this.addChild(new Text(keyHint("tui.select.cancel", "cancel"), 1, 0));
		}
		this.addChild(new Spacer(1));
		this.addChild(new DynamicBorder(border));
	}

	/** Aborted when a person cancels; never, when the loader is not cancellable. */
	get signal(): AbortSignal {
		return this.cancellable?.signal ?? this.neverAborted.signal;
	}

	set onAbort(callback: (() => void) | undefined) {
		if (this.cancellable === undefined) return;
		if (callback === undefined) delete this.cancellable.onAbort;
		else this.cancellable.onAbort = callback;
	}

	handleInput(data: string): void {
		this.cancellable?.handleInput(data);
	}

	/** Stops the animation. */
	dispose(): void {
		if (this.cancellable === undefined) this.loader.stop();
		else this.cancellable.dispose();
	}
}
