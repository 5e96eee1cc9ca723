// The `pi` object that a factory receives (§2.1): the union of the xcsh and pi APIs. Every member is a closure, so that all work
// detached. Members check their phase; what they do lives in other files.

import { hostCall, hostCallAsync } from "../host.ts";
import { ExtensionRuntimeNotInitializedError, handled } from "./errors.ts";
import { type ExecOptions, runExec } from "./exec.ts";
import { isObjectLike, isRecord } from "./json.ts";
import { createLogger } from "./logger.ts";
import { sendMessage, sendUserMessage } from "./messages.ts";
import { installedLibrary } from "./libraries.ts";
import { optionalMembers } from "./optional-members.ts";
import { adaptProvider } from "./provider-object.ts";
import { updatedProvider } from "./provider-update.ts";
import type { FlagValue } from "./protocol.ts";
import { boundMethods } from "./realm.ts";
import type { ExtensionRecord } from "./record.ts";
import {
	describeCommand,
	describeFlag,
	describeProfileCollector,
	describeProvider,
	describeServiceStatus,
	describeShortcut,
	describeTool,
	describeTransformer,
} from "./registration.ts";
import type { Runtime } from "./runtime.ts";
import type {
	EntryRenderer,
	EventHandler,
	MarkdownTransformer,
	MessageRenderer,
	ToolRendererResolver,
} from "./types.ts";
import {
	checkCommand,
	checkFlag,
	checkProfileCollector,
	checkProvider,
	checkServiceStatus,
	checkShortcut,
	checkTool,
	requireFunction,
	requireText,
} from "./validate.ts";

export type ExtensionApi = ReturnType<typeof createExtensionApi>;

export function createExtensionApi(runtime: Runtime, record: ExtensionRecord) {
	const { ext } = record;
	const generation = record.generation;
	/** Guard of members that are legal during loading. */
	const usable = () => record.assertUsable(generation);
	/** Guard of action methods (§2.2). */
	const action = () => {
		record.assertUsable(generation);
		if (record.phase === "loading" || runtime.bound === undefined) throw new ExtensionRuntimeNotInitializedError();
	};
	/** Runs `effect` now and answers with a promise that may be ignored (§11.2). */
	const promised = (effect: () => void): Promise<void> => {
		action();
		return handled(
			new Promise((resolve) => {
				effect();
				resolve();
			}),
		);
	};
	const library = (name: "pi" | "xcsh" | "typebox" | "zod" | "arktype"): object =>
		runtime.namespaces[name] ?? installedLibrary(name, record.entry);

	const subscribe = (event: string, handler: EventHandler): (() => void) => {
		const id = record.addHandler(event, handler);
		runtime.announce(record, { handlers: [{ id, event }] });
		return () => {
			if (!record.handlers.delete(id)) return;
			// Stays callable on stale objects (§4.5), where the host has dropped the handler already.
			if (generation === record.generation) runtime.retract(record, "handler", id);
		};
	};

	const registrations = {
		on(event: string, handler: EventHandler): () => void {
			usable();
			requireText("on: event", event);
			requireFunction(`on("${event}"): handler`, handler);
			return subscribe(event, handler);
		},
		/** kolega-contract §8: called with each record; what it returns is not awaited. */
		onLlmTrace(sink: (record: unknown) => unknown): () => void {
			usable();
			requireFunction("onLlmTrace: sink", sink);
			return subscribe("llm_trace", (event) => {
				sink((event as { record: unknown }).record);
			});
		},
		registerTool(definition: unknown): void {
			usable();
			const tool = checkTool(definition);
			const described = describeTool(tool);
			record.tools.set(tool.name, tool);
			runtime.announce(record, { tools: [described] });
		},
		registerCommand(name: string, options: unknown): void {
			usable();
			const command = checkCommand(name, options);
			record.commands.set(name, command);
			runtime.announce(record, { commands: [describeCommand(name, command)] });
		},
		registerShortcut(key: string, options: unknown): void {
			usable();
			const shortcut = checkShortcut(key, options);
			record.shortcuts.set(key, shortcut);
			runtime.announce(record, { shortcuts: [describeShortcut(key, shortcut.description)] });
		},
		registerFlag(name: string, given: unknown): void {
			usable();
			const options = checkFlag(name, given);
			record.flags.set(name, options);
			if (options.default !== undefined) {
				if (record.phase === "loading") record.flagDefaults.set(name, options.default);
				else if (record.profile === "xcsh" || !runtime.flagValues.has(name)) {
					runtime.flagValues.set(name, options.default);
				}
			}
			runtime.announce(record, { flags: [describeFlag(name, options)] });
		},
		getFlag(name: string): FlagValue | undefined {
			usable();
			if (!record.flags.has(name)) return undefined;
			if (record.phase === "loading") return runtime.flagValues.get(name) ?? record.flagDefaults.get(name);
			return runtime.flagValues.get(name);
		},
		registerMessageRenderer(customType: string, renderer: MessageRenderer): void {
			usable();
			requireText("registerMessageRenderer: customType", customType);
			requireFunction(`registerMessageRenderer("${customType}"): renderer`, renderer);
			record.messageRenderers.set(customType, renderer);
			runtime.announce(record, { messageRenderers: [customType] });
		},
		registerEntryRenderer(customType: string, renderer: EntryRenderer): void {
			usable();
			requireText("registerEntryRenderer: customType", customType);
			requireFunction(`registerEntryRenderer("${customType}"): renderer`, renderer);
			record.entryRenderers.set(customType, renderer);
			runtime.announce(record, { entryRenderers: [customType] });
		},
		registerToolRenderer(resolver: ToolRendererResolver): void {
			usable();
			requireFunction("registerToolRenderer: resolver", resolver);
			record.toolRenderer = resolver;
			runtime.announce(record, { toolRenderer: true });
		},
		registerMarkdownTransformer(fn: MarkdownTransformer, options?: { messageTypes?: string[] }): void {
			usable();
			requireFunction("registerMarkdownTransformer: transformer", fn);
			const messageTypes = Array.isArray(options?.messageTypes) ? options.messageTypes.map(String) : undefined;
			record.markdownTransformer = { fn, messageTypes };
			runtime.announce(record, { markdownTransformer: describeTransformer(messageTypes) });
		},
		registerServiceStatus(contribution: unknown): void {
			usable();
			const service = checkServiceStatus(contribution);
			record.serviceStatus.set(service.name, service);
			runtime.announce(record, { serviceStatus: [describeServiceStatus(service)] });
		},
		registerProfileCollector(given: unknown): void {
			usable();
			const collector = checkProfileCollector(given);
			if (record.profileCollectors.has(collector.id)) return;
			record.profileCollectors.set(collector.id, collector);
			runtime.announce(record, { profileCollectors: [describeProfileCollector(collector)] });
		},
		registerProvider(nameOrProvider: unknown, given?: unknown): void {
			usable();
			const { name, config } = adaptProvider(nameOrProvider, given);
			const defined = checkProvider(name, config);
			const before = record.providers.get(name);
			const provider = before === undefined ? defined : updatedProvider(before, defined);
			const described = describeProvider(name, provider);
			record.providers.set(name, provider);
			try {
				runtime.announce(record, { providers: [described] });
			} catch (error) {
				// The host refused: the earlier registration stays in force.
				if (before === undefined) record.providers.delete(name);
				else record.providers.set(name, before);
				throw error;
			}
		},
	};

	const actions = {
		unregisterProvider(name: string): void {
			action();
			record.providers.delete(name);
			hostCall("unregisterProvider", { ext, name });
		},
		sendMessage(message: unknown, options?: unknown): void {
			action();
			sendMessage(runtime, record, message, options);
		},
		sendUserMessage(content: unknown, options?: unknown): void {
			action();
			sendUserMessage(runtime, record, content, options);
		},
		appendEntry(customType: string, data?: unknown): void {
			action();
			requireText("appendEntry: customType", customType);
			const args = data === undefined ? { ext, customType } : { ext, customType, data };
			const { id } = hostCall("appendEntry", args);
			runtime.session.keepOriginal(id, data);
		},
		getActiveTools(): string[] {
			action();
			return [...runtime.state.read().activeTools];
		},
		getAllTools(): unknown[] {
			action();
			const tools = hostCall("allTools");
			return record.profile === "pi" ? tools : tools.map((tool) => tool.name);
		},
		setActiveTools(names: string[]): Promise<void> {
			action();
			if (!Array.isArray(names)) throw new TypeError("setActiveTools: names must be an array of strings");
			return promised(() => hostCall("setActiveTools", { names: [...new Set(names.map(String))] }));
		},
		getCommands(): unknown[] {
			action();
			return hostCall("commands");
		},
		getSettings(): Record<string, unknown> {
			action();
			return hostCall("settings");
		},
		setModel(model: unknown): Promise<boolean> {
			action();
			if (!isRecord(model) || typeof model.provider !== "string" || typeof model.id !== "string") {
				return handled(Promise.reject(new TypeError("setModel: model must have a provider and an id")));
			}
			return hostCallAsync("setModel", { provider: model.provider, id: model.id });
		},
		getThinkingLevel(): string | undefined {
			action();
			return runtime.state.read().thinkingLevel ?? undefined;
		},
		setThinkingLevel(level: string): void {
			action();
			hostCall("setThinkingLevel", { level: requireText("setThinkingLevel: level", level) });
		},
		getSessionName(): string | undefined {
			action();
			return runtime.session.manager.getSessionName();
		},
		setSessionName(name: string): Promise<void> {
			action();
			if (typeof name !== "string") throw new TypeError("setSessionName: name must be a string");
			return promised(() => hostCall("setSessionName", { name }));
		},
	};

	/** One argument: display label (X). Two, even if the second is `undefined`: label of a session entry (P). */
	function setLabel(...args: [label: string] | [entryId: string, label: string | undefined]): void {
		if (args.length > 1) {
			action();
			const [entryId, label] = args;
			hostCall("setEntryLabel", label === undefined ? { entryId } : { entryId, label: String(label) });
			return;
		}
		usable();
		const label = requireText("setLabel: label", args[0]);
		record.label = label;
		if (record.phase === "active") hostCall("setLabel", { ext, label });
	}

	return boundMethods(runtime, {
		logger: boundMethods(runtime, createLogger(ext)),
		get pi(): object {
			return library(record.profile);
		},
		get typebox(): object {
			return library("typebox");
		},
		get zod(): object {
			return library("zod");
		},
		get arktype(): object {
			return library("arktype");
		},
		events: boundMethods(runtime, runtime.bus.facade(record, usable)),
		...registrations,
		...actions,
		setLabel,
		async exec(command: string, args?: string[], options?: ExecOptions) {
			usable();
			if (options !== undefined && options !== null && !isObjectLike(options)) {
				throw new TypeError("exec: options must be an object");
			}
			return runExec(runtime, record, command, args, options);
		},
		...optionalMembers(record, usable),
	});
}
