// Older kinds of modules (extension-loading §8): files whose factory returns tools or commands instead of registering them. They become
// ordinary registrations, so that everything else treats them alike.

import type { ExtensionApi } from "./extension-api.ts";
import { isObjectLike } from "./json.ts";
import type { LoadSurface, UiFlavor } from "./protocol.ts";
import type { ExtensionRecord } from "./record.ts";
import type { Runtime } from "./runtime.ts";
import type { ToolDefinition } from "./types.ts";
import { UiEnv } from "./ui/env.ts";
import { createUi } from "./ui/ui-context.ts";

/** A legacy tool: like a definition, but `execute` takes its arguments in another order. */
interface CustomTool {
	name: string;
	parameters: object;
	onSession?: ToolDefinition["onSession"];
	execute: (toolCallId: string, params: unknown, onUpdate: unknown, ctx: unknown, signal: unknown) => unknown;
}

interface CustomCommand {
	name: string;
	description?: string;
	execute: (args: string[], ctx: unknown) => unknown;
}

/** Events whose payload a custom tool's `onSession` receives as they are; the session events come through `toolSession`. */
const PASSED_ON = [
	"auto_compaction_start",
	"auto_compaction_end",
	"auto_retry_start",
	"auto_retry_end",
	"ttsr_triggered",
	"todo_reminder",
] as const;

function isTool(value: unknown): value is CustomTool {
	if (!isObjectLike(value)) return false;
	const { name, parameters, execute } = value as Partial<CustomTool>;
	return typeof name === "string" && isObjectLike(parameters) && typeof execute === "function";
}

function isCommand(value: unknown): value is CustomCommand {
	if (!isObjectLike(value) || "parameters" in value) return false;
	const { name, execute } = value as Partial<CustomCommand>;
	return typeof name === "string" && typeof execute === "function";
}

/** Has nobody to show anything to. */
class SilentUi extends UiEnv {
	override get flavor(): UiFlavor {
		return "none";
	}
}

/** What a custom tool's factory receives: the API and the few members that only it has. In xcsh its `ui` is the silent one for ever. */
export function customToolApi(runtime: Runtime, record: ExtensionRecord, api: ExtensionApi): object {
	const silent = createUi(new SilentUi(runtime, record, undefined, () => {}));
	return Object.defineProperties(
		{
			cwd: record.cwd,
			ui: silent,
			hasUI: false,
			pushPendingAction(): void {
				api.logger.warn("pushPendingAction has no effect in this host", { tool: record.path });
			},
		},
		Object.getOwnPropertyDescriptors(api),
	);
}

function adoptTool(api: ExtensionApi, tool: CustomTool): void {
	// Inherits from the tool, so that its own and inherited members and getters stay visible; `this` is the tool.
	const definition: object = Object.create(tool, {
		execute: {
			enumerable: true,
			value: (id: string, params: unknown, signal: unknown, onUpdate: unknown, ctx: unknown) =>
				tool.execute(id, params, onUpdate, ctx, signal),
		},
		...(typeof tool.onSession === "function"
			? { onSession: { enumerable: true, value: (event: unknown, ctx: unknown) => tool.onSession?.(event, ctx) } }
			: {}),
	});
	api.registerTool(definition);
	if (typeof tool.onSession !== "function") return;
	for (const event of PASSED_ON) {
		api.on(event, async (payload, ctx) => {
			await tool.onSession?.(payload, ctx);
		});
	}
}

/** Words of a command line; quotes keep spaces together. */
export function splitArguments(line: string): string[] {
	const words: string[] = [];
	for (const match of line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)) words.push(match[1] ?? match[2] ?? match[3] ?? "");
	return words;
}

function adoptCommand(api: ExtensionApi, command: CustomCommand): void {
	api.registerCommand(command.name, {
		...(typeof command.description === "string" ? { description: command.description } : {}),
		handler: async (line: string, ctx: unknown) => {
			const answer = await command.execute(splitArguments(line), ctx);
			if (typeof answer === "string") api.sendUserMessage(answer);
		},
	});
}

/** Registers the tools or commands that a factory returned. An extension's other return values mean nothing (§1.2). */
export function adoptReturned(api: ExtensionApi, surface: LoadSurface, returned: unknown, path: string): void {
	const items: unknown[] = Array.isArray(returned) ? returned : [returned];
	for (const item of items) {
		if (surface !== "command" && isTool(item)) {
			if (surface === "extension") {
				api.logger.warn(`${path} returns a tool; it is registered as a custom tool`, { tool: item.name });
			}
			adoptTool(api, item);
		} else if (surface === "command" && isCommand(item)) adoptCommand(api, item);
		else if (surface !== "extension") {
			throw new TypeError(
				`${path} must return a ${surface} or a list of them: each needs a name and an execute function`,
			);
		}
	}
}
