// What one extension has registered in this isolate, and its life cycle. Holds the live JavaScript values; their JSON side is in
// `registration.ts`. Must never call the host except through the `announce`/`retract` functions it was given.

import { ExtensionNotActiveError, StaleExtensionError } from "./errors.ts";
import type { FlagValue, LoadHeader, Profile } from "./protocol.ts";
import type {
	CommandDefinition,
	EntryRenderer,
	EventHandler,
	FlagOptions,
	MarkdownTransformer,
	MessageRenderer,
	ProfileCollector,
	ProviderConfig,
	ServiceStatus,
	ShortcutDefinition,
	ToolDefinition,
	ToolRendererResolver,
} from "./types.ts";
import { ComponentSlots } from "./ui/custom.ts";

export type Phase = "loading" | "active" | "failed";

export interface RegisteredHandler {
	event: string;
	fn: EventHandler;
}

/** What `ctx.modelRegistry` takes from the extension's API object. */
export interface ProviderMutators {
	registerProvider(nameOrProvider: unknown, config?: unknown): void;
	unregisterProvider(name: string): void;
	registerVirtualModel(definition: unknown): void;
}

/** One extension (one entry file) of this isolate's package. */
export class ExtensionRecord {
	readonly ext: number;
	/** Path as people see it. */
	readonly path: string;
	/** File URL of the entry file. */
	readonly entry: string;
	readonly profile: Profile;
	/** Session directory at load; default of `exec`. */
	readonly cwd: string;
	phase: Phase = "loading";
	mutators: ProviderMutators | undefined;

	label: string | undefined;
	readonly handlers = new Map<number, RegisteredHandler>();
	readonly tools = new Map<string, ToolDefinition>();
	readonly commands = new Map<string, CommandDefinition>();
	readonly shortcuts = new Map<string, ShortcutDefinition>();
	readonly flags = new Map<string, FlagOptions>();
	/** Defaults that become visible to others when loading succeeded. */
	readonly flagDefaults = new Map<string, FlagValue>();
	readonly messageRenderers = new Map<string, MessageRenderer>();
	readonly entryRenderers = new Map<string, EntryRenderer>();
	toolRenderer: ToolRendererResolver | undefined;
	markdownTransformer: { fn: MarkdownTransformer; messageTypes: string[] | undefined } | undefined;
	readonly providers = new Map<string, ProviderConfig>();
	readonly serviceStatus = new Map<string, ServiceStatus>();
	readonly profileCollectors = new Map<string, ProfileCollector>();
	/** UI features whose absence was reported already. */
	readonly reportedFeatures = new Set<string>();

	/** Components in widgets, header and footer. */
	readonly slots = new ComponentSlots();

	/** Rises when a session replacement makes earlier contexts stale. */
	generation = 0;
	#staleMessage: string | undefined;
	#nextHandler = 1;

	constructor(header: Pick<LoadHeader, "ext" | "path" | "entry" | "profile" | "cwd">) {
		this.ext = header.ext;
		this.path = header.path;
		this.entry = header.entry;
		this.profile = header.profile;
		this.cwd = header.cwd;
	}

	addHandler(event: string, fn: EventHandler): number {
		const id = this.#nextHandler++;
		this.handlers.set(id, { event, fn });
		return id;
	}

	/** Throws when the extension failed to load, or when what was made in `generation` is out of date (§4.5). */
	assertUsable(generation: number): void {
		if (this.phase === "failed") throw new ExtensionNotActiveError(this.path);
		if (generation < this.generation) throw new StaleExtensionError(this.#staleMessage);
	}

	/** Makes everything made so far stale. Only pi-profile extensions have stale objects; xcsh keeps them alive (§4.5). */
	markStale(message: string | undefined): void {
		if (this.profile !== "pi") return;
		this.generation += 1;
		this.#staleMessage = message;
	}

	/** Drops everything a failed factory left behind. */
	fail(): void {
		this.phase = "failed";
		for (const map of [
			this.handlers,
			this.tools,
			this.commands,
			this.shortcuts,
			this.flags,
			this.flagDefaults,
			this.messageRenderers,
			this.entryRenderers,
			this.providers,
			this.serviceStatus,
			this.profileCollectors,
		]) {
			map.clear();
		}
		this.toolRenderer = undefined;
		this.markdownTransformer = undefined;
		this.label = undefined;
	}
}
