// Layout components that only the xcsh edition has.

import { type Component, matchesKey, truncateToWidth, visibleWidth } from "@earendil-works/pi-tui";
import { padding } from "./text.ts";

export interface Tab {
	id: string;
	label: string;
}

export interface TabBarTheme {
	label?(text: string): string;
	activeTab?(text: string): string;
	inactiveTab?(text: string): string;
	hint?(text: string): string;
}

const plain = (text: string): string => text;

/** A row of tabs; Tab and the arrow keys move, and `onTabChange` hears of each move. */
export class TabBar implements Component {
	onTabChange?: (tab: Tab, index: number) => void;
	private readonly label: string;
	private readonly tabs: readonly Tab[];
	private readonly theme: TabBarTheme;
	private active: number;

	constructor(label: string, tabs: readonly Tab[], theme: TabBarTheme = {}, initialIndex = 0) {
		this.label = label;
		this.tabs = tabs;
		this.theme = theme;
		this.active = Math.max(0, Math.min(initialIndex, tabs.length - 1));
	}

	getActiveTab(): Tab | undefined {
		return this.tabs[this.active];
	}

	getActiveIndex(): number {
		return this.active;
	}

	/** Selects a tab by position; positions outside wrap around. */
	setActiveIndex(index: number): void {
		if (this.tabs.length === 0) return;
		const next = ((index % this.tabs.length) + this.tabs.length) % this.tabs.length;
		if (next === this.active) return;
		this.active = next;
		const tab = this.tabs[next];
		if (tab !== undefined) this.onTabChange?.(tab, next);
	}

	nextTab(): void {
		this.setActiveIndex(this.active + 1);
	}

	prevTab(): void {
		this.setActiveIndex(this.active - 1);
	}

	/** True when the key moved the selection. */
	handleInput(data: string): boolean {
		if (matchesKey(data, "tab") || matchesKey(data, "right")) this.nextTab();
		else if (matchesKey(data, "shift+tab") || matchesKey(data, "left")) this.prevTab();
		else return false;
		return true;
	}

	invalidate(): void {}

	render(width: number): string[] {
		const label = (this.theme.label ?? plain)(this.label);
		const tabs = this.tabs.map((tab, index) =>
			index === this.active
				? (this.theme.activeTab ?? plain)(` ${tab.label} `)
				: (this.theme.inactiveTab ?? plain)(` ${tab.label} `),
		);
		return [truncateToWidth([label, ...tabs].filter((part) => part !== "").join(" "), width)];
	}
}

/** Two components side by side. `ratio` is the left one's share of the width. */
export class HorizontalSplit implements Component {
	private readonly left: Component;
	private readonly right: Component;
	private readonly ratio: number;
	private readonly separator: string;

	constructor(left: Component, right: Component, options: { ratio?: number; separator?: string } = {}) {
		this.left = left;
		this.right = right;
		this.ratio = Math.min(1, Math.max(0, options.ratio ?? 0.5));
		this.separator = options.separator ?? " ";
	}

	invalidate(): void {
		this.left.invalidate();
		this.right.invalidate();
	}

	render(width: number): string[] {
		const space = Math.max(0, width - visibleWidth(this.separator));
		const leftWidth = Math.floor(space * this.ratio);
		const rightWidth = space - leftWidth;
		const left = leftWidth > 0 ? this.left.render(leftWidth) : [];
		const right = rightWidth > 0 ? this.right.render(rightWidth) : [];
		return Array.from({ length: Math.max(left.length, right.length) }, (_, row) => {
			const cell = truncateToWidth(left[row] ?? "", leftWidth);
			return (
				cell + padding(leftWidth - visibleWidth(cell)) + this.separator + truncateToWidth(right[row] ?? "", rightWidth)
			);
		});
	}
}
