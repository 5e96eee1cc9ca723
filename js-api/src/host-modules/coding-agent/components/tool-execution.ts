// One tool call with its result, drawn by the tool's own renderers where it has them.

import { Box, type Component, Container, Spacer, Text } from "@earendil-works/pi-tui";
import { currentTheme, type Theme } from "../../../api/theme.ts";
import { renderToolCall, renderToolResult } from "../tools/render.ts";
import type { ToolResult } from "../tools/types.ts";

interface Renderers {
	label?: string;
	renderCall?: (args: unknown, theme: Theme, context: unknown) => Component | undefined;
	renderResult?: (result: ToolResult, options: object, theme: Theme, context: unknown) => Component | undefined;
}

const BUILT_IN = new Set(["read", "write", "edit", "bash", "grep", "find", "ls"]);

export class ToolExecutionComponent extends Container {
	private readonly name: string;
	private readonly toolCallId: string;
	private args: unknown;
	private readonly definition: Renderers | undefined;
	private readonly state: Record<string, unknown> = {};
	private readonly requestRender: () => void;
	private readonly cwd: string;
	private result: ToolResult | undefined;
	private partial = true;
	private expanded = false;

	/** @param tui anything with `requestRender` */
	constructor(
		name: string,
		toolCallId: string,
		args: unknown,
		_options?: unknown,
		definition?: Renderers,
		tui?: { requestRender(): void },
		cwd = process.cwd(),
	) {
		super();
		this.name = name;
		this.toolCallId = toolCallId;
		this.args = args;
		this.definition = definition;
		this.requestRender = () => tui?.requestRender();
		this.cwd = cwd;
		this.rebuild();
	}

	updateArgs(args: unknown): void {
		this.args = args;
		this.rebuild();
	}

	updateResult(result: ToolResult, isPartial = false): void {
		this.result = result;
		this.partial = isPartial;
		this.rebuild();
	}

	setExpanded(expanded: boolean): void {
		this.expanded = expanded;
		this.rebuild();
	}

	override invalidate(): void {
		super.invalidate();
		this.rebuild();
	}

	private context(): object {
		return {
			args: this.args,
			toolCallId: this.toolCallId,
			state: this.state,
			cwd: this.cwd,
			isPartial: this.partial,
			expanded: this.expanded,
			isError: this.result?.isError === true,
			executionStarted: this.result !== undefined,
			argsComplete: true,
			invalidate: () => {
				this.rebuild();
				this.requestRender();
			},
		};
	}

	private background(text: string): string {
		const failed = this.result?.isError === true;
		const token = this.partial ? "toolPendingBg" : failed ? "toolErrorBg" : "toolSuccessBg";
		return currentTheme().bg(token, text);
	}

	/** A broken renderer must not hide the call: its place is taken by the plain form. */
	private attempt(draw: () => Component | undefined): Component | undefined {
		try {
			return draw();
		} catch {
			return undefined;
		}
	}

	private drawCall(theme: Theme): Component {
		const own = this.attempt(() => this.definition?.renderCall?.(this.args, theme, this.context()));
		if (own !== undefined) return own;
		if (BUILT_IN.has(this.name)) return renderToolCall(this.name, this.args as Record<string, unknown>, theme);
		const title = theme.fg("toolTitle", theme.bold(this.definition?.label ?? this.name));
		return new Text(`${title} ${theme.fg("muted", JSON.stringify(this.args ?? {}))}`, 0, 0);
	}

	private drawResult(result: ToolResult, theme: Theme): Component {
		const options = { expanded: this.expanded, isPartial: this.partial };
		const own = this.attempt(() => this.definition?.renderResult?.(result, options, theme, this.context()));
		return own ?? renderToolResult(this.name, result, options, theme, (this.args ?? {}) as Record<string, unknown>);
	}

	private rebuild(): void {
		const theme = currentTheme();
		this.clear();
		this.addChild(new Spacer(1));
		const box = new Box(1, 1, (text) => this.background(text));
		box.addChild(this.drawCall(theme));
		if (this.result !== undefined) box.addChild(this.drawResult(this.result, theme));
		this.addChild(box);
	}
}
