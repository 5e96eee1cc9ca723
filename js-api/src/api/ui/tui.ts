// The `tui` object that component factories receive: the part of the terminal library's TUI that extensions use, for a component that is
// drawn elsewhere. What has no meaning there does nothing.

import type { Component } from "../types.ts";
import type { MountedComponent } from "./components.ts";

export interface OverlayHandle {
	hide(): void;
	setHidden(hidden: boolean): void;
	isHidden(): boolean;
	focus(): void;
	unfocus(): void;
	isFocused(): boolean;
	getBounds(): undefined;
}

type ShowOverlay = (component: Component, options: unknown) => OverlayHandle;

export function createTui(mounted: MountedComponent, showOverlay: ShowOverlay) {
	const children: Component[] = [];
	const overlays: OverlayHandle[] = [];
	return {
		children,
		terminal: {
			get columns(): number {
				return mounted.columns;
			},
			get rows(): number {
				return mounted.rows;
			},
			kittyProtocolActive: false,
			write(_data: string): void {},
			hideCursor(): void {},
			showCursor(): void {},
			setTitle(_title: string): void {},
		},
		requestRender: (_force?: boolean): void => mounted.requestRender(),
		invalidate(): void {
			mounted.component?.invalidate?.();
			mounted.requestRender();
		},
		setFocus(component: Component | null | undefined): void {
			mounted.focused = component ?? undefined;
		},
		addChild(component: Component): void {
			children.push(component);
		},
		removeChild(component: Component): void {
			const at = children.indexOf(component);
			if (at >= 0) children.splice(at, 1);
		},
		clear(): void {
			children.length = 0;
		},
		addInputListener(listener: (data: string) => { consume?: boolean; data?: string } | undefined): () => void {
			mounted.listeners.push(listener);
			return () => {
				const at = mounted.listeners.indexOf(listener);
				if (at >= 0) mounted.listeners.splice(at, 1);
			};
		},
		showOverlay(component: Component, options?: unknown): OverlayHandle {
			const handle = showOverlay(component, options);
			overlays.push(handle);
			return handle;
		},
		hideOverlay(): void {
			overlays.pop()?.hide();
		},
		hasOverlay: (): boolean => overlays.some((overlay) => !overlay.isHidden()),
		start(): void {},
		stop(): void {},
	};
}

export type TuiFacade = ReturnType<typeof createTui>;
