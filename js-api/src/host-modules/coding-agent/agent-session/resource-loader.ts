// Where a session's extensions and instructions come from. The host reads the files; overrides of the caller change what was read.

import type { ChildResources } from "../../../api/protocol-methods.ts";
import { hostCallAsync } from "../../../host.ts";
import { isRecord } from "../../../api/json.ts";

interface Diagnostic {
	type: string;
	message: string;
}

type Named = Record<string, unknown>;
type Factory = (pi: unknown) => unknown;

export interface ExtensionsResult {
	extensions: { path: string; resolvedPath?: string }[];
	errors: { path: string; error: string }[];
	runtime?: unknown;
}

/** What `createAgentSession` asks a loader for. Extensions may pass an object of their own. */
export interface ResourceLoader {
	getExtensions(): ExtensionsResult;
	getSkills(): { skills: Named[]; diagnostics: Diagnostic[] };
	getPrompts(): { prompts: Named[]; diagnostics: Diagnostic[] };
	getThemes(): { themes: unknown[]; diagnostics: Diagnostic[] };
	getAgentsFiles(): { agentsFiles: { path: string; content: string }[] };
	getSystemPrompt(): string | undefined;
	getAppendSystemPrompt(): string[];
	reload(): Promise<void>;
	[other: string]: unknown;
}

export interface DefaultResourceLoaderOptions {
	cwd?: string;
	agentDir?: string;
	settingsManager?: unknown;
	additionalExtensionPaths?: string[];
	additionalSkillPaths?: string[];
	additionalPromptTemplatePaths?: string[];
	/** Extensions as functions. They run in the calling isolate, as extensions of the session. */
	extensionFactories?: unknown[];
	noExtensions?: boolean;
	noSkills?: boolean;
	noPromptTemplates?: boolean;
	noContextFiles?: boolean;
	systemPrompt?: string;
	appendSystemPrompt?: string | string[];
	skillsOverride?: (base: { skills: Named[]; diagnostics: Diagnostic[] }) => {
		skills: Named[];
		diagnostics: Diagnostic[];
	};
	promptsOverride?: (base: { prompts: Named[]; diagnostics: Diagnostic[] }) => {
		prompts: Named[];
		diagnostics: Diagnostic[];
	};
	agentsFilesOverride?: (base: { agentsFiles: { path: string; content: string }[] }) => {
		agentsFiles: { path: string; content: string }[];
	};
	systemPromptOverride?: (base: string | undefined) => string | undefined;
	appendSystemPromptOverride?: (base: string[]) => string[];
	[other: string]: unknown;
}

/** Loads what the host would load for a session of its own, with the caller's changes. */
export class DefaultResourceLoader implements ResourceLoader {
	[other: string]: unknown;
	readonly #options: DefaultResourceLoaderOptions;
	readonly #factories: readonly Factory[];
	#read: ChildResources = {
		systemPrompt: null,
		appendSystemPrompt: [],
		agentsFiles: [],
		skills: [],
		prompts: [],
		diagnostics: [],
	};
	#loaded = false;

	constructor(options: DefaultResourceLoaderOptions = {}) {
		this.#options = options;
		this.#factories = factoryList("extensionFactories", options.extensionFactories);
	}

	async reload(): Promise<void> {
		const { cwd } = this.#options;
		this.#read = await hostCallAsync("child.resources", {
			...(cwd === undefined ? {} : { cwd }),
			resources: this.request(),
		});
		this.#loaded = true;
	}

	/** Reads once. */
	async ready(): Promise<void> {
		if (!this.#loaded) await this.reload();
	}

	/** @internal */
	factories(): readonly Factory[] {
		return this.#factories;
	}

	/** @internal Where the host looks. */
	request(): Record<string, unknown> {
		const o = this.#options;
		return {
			noExtensions: o.noExtensions,
			extensionPaths: o.additionalExtensionPaths ?? [],
			noSkills: o.noSkills,
			skillPaths: o.additionalSkillPaths ?? [],
			noPromptTemplates: o.noPromptTemplates,
			promptTemplatePaths: o.additionalPromptTemplatePaths ?? [],
			noContextFiles: o.noContextFiles,
			systemPrompt: o.systemPrompt,
			appendSystemPrompt: o.appendSystemPrompt === undefined ? [] : [o.appendSystemPrompt].flat(),
		};
	}

	/** Extensions are loaded with the session; its `extensionsResult` lists them. */
	getExtensions(): ExtensionsResult {
		return { extensions: [], errors: [] };
	}

	getSkills() {
		const base = { skills: this.#read.skills, diagnostics: this.#read.diagnostics };
		return this.#options.skillsOverride?.(base) ?? base;
	}

	getPrompts() {
		const base = { prompts: this.#read.prompts, diagnostics: [] as Diagnostic[] };
		return this.#options.promptsOverride?.(base) ?? base;
	}

	getThemes() {
		return { themes: [], diagnostics: [] };
	}

	getAgentsFiles() {
		const base = { agentsFiles: this.#read.agentsFiles };
		return this.#options.agentsFilesOverride?.(base) ?? base;
	}

	getSystemPrompt(): string | undefined {
		const base = this.#read.systemPrompt ?? undefined;
		const { systemPromptOverride } = this.#options;
		return systemPromptOverride === undefined ? base : systemPromptOverride(base);
	}

	getAppendSystemPrompt(): string[] {
		const base = this.#read.appendSystemPrompt;
		return this.#options.appendSystemPromptOverride?.(base) ?? base;
	}
}

/** Checks a list of functions; `{factory}` is pi's form for one with a name. */
export function factoryList(what: string, given: unknown): Factory[] {
	if (given === undefined) return [];
	if (!Array.isArray(given)) throw new TypeError(`${what}: must be an array of functions`);
	return given.map((item: unknown, index) => {
		const factory = isRecord(item) ? item.factory : item;
		if (typeof factory !== "function") throw new TypeError(`${what}[${index}]: must be a function`);
		return factory as Factory;
	});
}

/** The functions that a loader brings. */
export function factoriesOf(loader: ResourceLoader | undefined): readonly Factory[] {
	return loader instanceof DefaultResourceLoader ? loader.factories() : [];
}

/** The part of a request that says what a loader found. */
export async function fromLoader(loader: ResourceLoader): Promise<Record<string, unknown>> {
	const own = loader instanceof DefaultResourceLoader;
	if (own) await loader.ready();
	const list = <T>(value: T[] | undefined): T[] => value ?? [];
	const paths = list(loader.getExtensions()?.extensions).map(({ path, resolvedPath }) => resolvedPath ?? path);
	return {
		resources: own ? loader.request() : { noExtensions: true, extensionPaths: paths },
		prompt: {
			systemPrompt: loader.getSystemPrompt?.(),
			appendSystemPrompt: list(loader.getAppendSystemPrompt?.()),
			agentsFiles: list(loader.getAgentsFiles?.().agentsFiles),
			skills: list(loader.getSkills?.().skills),
			prompts: list(loader.getPrompts?.().prompts),
		},
	};
}
