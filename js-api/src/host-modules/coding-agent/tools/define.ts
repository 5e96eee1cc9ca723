// From a tool's logic to the two forms that extensions use: an agent tool and a tool definition for `pi.registerTool`.

import type { Component } from "@earendil-works/pi-tui";
import type { TSchema } from "typebox";
import type { Theme } from "../../../api/theme.ts";
import { renderToolCall, renderToolResult } from "./render.ts";
import type { OnUpdate, ToolResult, ToolRun } from "./types.ts";

/** What distinguishes one built-in tool from another. */
export interface ToolDescription<Schema extends TSchema> {
	name: string;
	description: string;
	parameters: Schema;
	/** One line for the system prompt. */
	promptSnippet: string;
	promptGuidelines?: readonly string[];
	prepareArguments?: (raw: unknown) => unknown;
}

export interface AgentTool<Params, Details> {
	name: string;
	label: string;
	description: string;
	parameters: TSchema;
	execute(
		toolCallId: string,
		params: Params,
		signal?: AbortSignal,
		onUpdate?: OnUpdate<Details>,
	): Promise<ToolResult<Details>>;
}

export interface BuiltinToolDefinition<Params, Details> extends Omit<AgentTool<Params, Details>, "execute"> {
	promptSnippet: string;
	promptGuidelines: string[];
	prepareArguments?: (raw: unknown) => unknown;
	execute(
		toolCallId: string,
		params: Params,
		signal?: AbortSignal,
		onUpdate?: OnUpdate<Details>,
		context?: unknown,
	): Promise<ToolResult<Details>>;
	renderCall(args: Params, theme: Theme, context?: unknown): Component;
	renderResult(
		result: ToolResult<Details>,
		options: { expanded?: boolean; isPartial?: boolean },
		theme: Theme,
		context?: unknown,
	): Component;
}

type Logic<Params, Details> = (run: ToolRun<Params, Details>) => Promise<ToolResult<Details>>;

/** P passes the call's context, X its arguments; both are accepted. */
function argumentsOf(context: unknown): Record<string, unknown> {
	if (typeof context !== "object" || context === null) return {};
	const { args } = context as { args?: unknown };
	return (typeof args === "object" && args !== null ? args : context) as Record<string, unknown>;
}

export function makeDefinition<Params, Details, Schema extends TSchema>(
	description: ToolDescription<Schema>,
	logic: Logic<Params, Details>,
): BuiltinToolDefinition<Params, Details> {
	const { name, parameters, promptSnippet, promptGuidelines = [], prepareArguments } = description;
	return {
		name,
		label: name,
		description: description.description,
		parameters,
		promptSnippet,
		promptGuidelines: [...promptGuidelines],
		...(prepareArguments === undefined ? {} : { prepareArguments }),
		execute: (_toolCallId, params, signal, onUpdate) => logic({ params, signal, onUpdate }),
		renderCall: (args, theme) => renderToolCall(name, args as Record<string, unknown>, theme),
		renderResult: (result, options, theme, context) =>
			renderToolResult(name, result, options ?? {}, theme, argumentsOf(context)),
	};
}

export function makeTool<Params, Details, Schema extends TSchema>(
	description: ToolDescription<Schema>,
	logic: Logic<Params, Details>,
): AgentTool<Params, Details> {
	const { name, parameters } = description;
	return {
		name,
		label: name,
		description: description.description,
		parameters,
		execute: (_toolCallId, params, signal, onUpdate) => logic({ params, signal, onUpdate }),
	};
}
