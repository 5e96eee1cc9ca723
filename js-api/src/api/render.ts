// Draws messages, entries and tool calls with an extension's renderers and answers lines (§6.5, §7.4, §7.5). A renderer that is missing,
// returns nothing or throws gives no lines; the host then draws its default. A throw is also reported.

import { hostCall } from "../host.ts";
import { isRecord } from "./json.ts";
import type { RenderHeader } from "./protocol.ts";
import type { ExtensionRecord } from "./record.ts";
import { contextWithArgs, themeWith } from "./render-hybrids.ts";
import type { Runtime } from "./runtime.ts";
import { currentTheme } from "./theme.ts";
import type { Component, ToolDefinition } from "./types.ts";
import { keyTextOf } from "./ui/keybindings.ts";

interface ToolPayload {
	tool: string;
	toolCallId: string;
	args?: unknown;
	result?: Record<string, unknown>;
	isError?: boolean;
	executionStarted?: boolean;
	argsComplete?: boolean;
	durationMs?: number;
	showImages?: boolean;
	outputPad?: number;
}

/** What P keeps between the renderer calls of one tool call. */
interface ToolDrawing {
	state: Record<string, unknown>;
	call?: Component;
	result?: Component;
}

const drawings = new WeakMap<Runtime, Map<string, ToolDrawing>>();

function drawingOf(runtime: Runtime, key: string): ToolDrawing {
	const table = drawings.get(runtime) ?? new Map<string, ToolDrawing>();
	drawings.set(runtime, table);
	const drawing = table.get(key) ?? { state: {} };
	table.set(key, drawing);
	return drawing;
}

/** Drops what is kept for these tool calls. */
export function releaseToolCalls(runtime: Runtime, toolCalls: readonly string[]): void {
	for (const id of toolCalls) {
		runtime.forgetDetails(id);
		for (const key of drawings.get(runtime)?.keys() ?? []) {
			if (key.endsWith(`:${id}`)) drawings.get(runtime)?.delete(key);
		}
	}
}

type Renderers = Pick<ToolDefinition, "renderCall" | "renderResult">;

/** The extension's renderers for a tool: its resolver is asked first, its own definition is what `next()` yields (§7.5). */
function renderersFor(record: ExtensionRecord, tool: string): { renderers: Renderers | undefined; self: unknown } {
	const own = record.tools.get(tool);
	const resolved = record.toolRenderer?.(tool, () => own);
	if (isRecord(resolved)) return { renderers: resolved as Renderers, self: resolved };
	return { renderers: own, self: own };
}

function toComponent(value: unknown): Component | undefined {
	if (typeof value === "string") return { render: () => value.split("\n") };
	if (Array.isArray(value)) return { render: () => value.map(String) };
	if (value === null || typeof value !== "object" || typeof (value as Component).render !== "function")
		return undefined;
	return value as Component;
}

function lines(component: Component | undefined, width: number): { lines: string[] } | undefined {
	if (component === undefined) return undefined;
	const drawn: unknown = component.render(width);
	return Array.isArray(drawn) ? { lines: drawn.map(String) } : undefined;
}

function renderTool(
	runtime: Runtime,
	record: ExtensionRecord,
	header: RenderHeader,
	payload: ToolPayload,
): Component | undefined {
	const { renderers, self } = renderersFor(record, payload.tool);
	const theme = currentTheme();
	const drawing = drawingOf(runtime, `${record.ext}:${payload.toolCallId}`);
	const expanded = header.expanded === true;
	const isPartial = header.isPartial === true;
	const keyText = keyTextOf(runtime);
	const keyHint = (binding: unknown, description: unknown) =>
		`${theme.fg("dim", keyText(binding))}${theme.fg("muted", ` ${description}`)}`;
	const context = {
		args: payload.args ?? {},
		toolCallId: payload.toolCallId,
		invalidate: () => hostCall("render.invalidate", { ext: record.ext, toolCallId: payload.toolCallId }),
		lastComponent: header.what === "toolCall" ? drawing.call : drawing.result,
		state: drawing.state,
		cwd: runtime.session.info.cwd,
		executionStarted: payload.executionStarted ?? true,
		argsComplete: payload.argsComplete ?? true,
		isPartial,
		expanded,
		showImages: payload.showImages ?? false,
		isError: payload.isError ?? false,
		durationMs: payload.durationMs,
		outputPad: payload.outputPad ?? 0,
		keyText,
		keyHint,
	};
	const options = { expanded, isPartial, spinnerFrame: header.spinnerFrame, renderContext: undefined };
	if (header.what === "toolCall") {
		const drawn = renderers?.renderCall?.call(self, context.args, themeWith(theme, options), themeWith(theme, context));
		const component = toComponent(drawn);
		if (component !== undefined) drawing.call = component;
		return component;
	}
	const original = runtime.detailsOf(payload.toolCallId);
	const result = isPartial || original === undefined ? payload.result : { ...payload.result, details: original };
	const argsWin = record.profile === "xcsh";
	const drawn = renderers?.renderResult?.call(
		self,
		result ?? { content: [] },
		options,
		theme,
		contextWithArgs(context, context.args, argsWin),
	);
	const component = toComponent(drawn);
	if (component !== undefined) drawing.result = component;
	return component;
}

function draw(
	runtime: Runtime,
	record: ExtensionRecord,
	header: RenderHeader,
	payload: Record<string, unknown>,
): Component | undefined {
	const keyText = keyTextOf(runtime);
	const options = {
		expanded: header.expanded === true,
		outputPad: 0,
		keyText,
		keyHint: (binding: unknown, description: unknown) => `${keyText(binding)} ${description}`,
	};
	if (header.what === "message" || header.what === "entry") {
		const subject = payload[header.what];
		const type = isRecord(subject) ? String(subject.customType) : "";
		const renderer = header.what === "message" ? record.messageRenderers.get(type) : record.entryRenderers.get(type);
		return toComponent(renderer?.(subject, options, currentTheme()));
	}
	return renderTool(runtime, record, header, payload as unknown as ToolPayload);
}

export function render(
	runtime: Runtime,
	header: RenderHeader,
	payload: string | undefined,
): { lines: string[] } | undefined {
	const record = runtime.record(header.ext);
	const subject = JSON.parse(payload ?? "{}") as Record<string, unknown>;
	try {
		return lines(draw(runtime, record, header, subject), header.width);
	} catch (error) {
		runtime.report(record.ext, `render:${header.what}`, error);
		return undefined;
	}
}

/** Runs the extension's markdown transformer (§7.5). On a throw or a wrong result the text stays as it was. */
export function transformMarkdown(runtime: Runtime, header: { ext: number }, payload: string | undefined): string {
	const record = runtime.record(header.ext);
	const { markdown, context } = JSON.parse(payload ?? "{}") as {
		markdown?: string;
		context?: { messageType?: string };
	};
	const text = markdown ?? "";
	const transformer = record.markdownTransformer;
	if (transformer === undefined) return text;
	const { messageTypes, fn } = transformer;
	if (messageTypes !== undefined && !messageTypes.includes(String(context?.messageType))) return text;
	try {
		const transformed = fn(text, context ?? {});
		return typeof transformed === "string" ? transformed : text;
	} catch (error) {
		runtime.report(record.ext, "render:markdown", error);
		return text;
	}
}
