// `ExtensionContext` (§4.2): what event handlers and renderers receive. A thin handle: members look at the state when they are read.
// All members are own and enumerable, because extensions spread contexts and use methods detached.

import { hostCall, hostCallAsync } from "../host.ts";
import { handled, toError } from "./errors.ts";
import { isRecord } from "./json.ts";
import { type ModelRegistry, modelRegistryOf } from "./model-registry.ts";
import { onDemand } from "./on-demand.ts";
import type { HostMode, HostState } from "./protocol.ts";
import { bound, boundView, within } from "./realm.ts";
import type { ExtensionRecord } from "./record.ts";
import type { Runtime } from "./runtime.ts";
import type { SessionManagerView } from "./session-manager.ts";
import { UiEnv } from "./ui/env.ts";
import { createUi, type ExtensionUi } from "./ui/ui-context.ts";

/** What a context is made for. */
export interface ContextEnv {
	runtime: Runtime;
	record: ExtensionRecord;
	/** Absent for contexts outside a call of the host. */
	callId: number | undefined;
	/** Throws when the context is out of date (§4.5). */
	guard: () => void;
	/** Made on first use. */
	ui: ExtensionUi | undefined;
}

export function contextEnv(runtime: Runtime, record: ExtensionRecord, callId: number | undefined): ContextEnv {
	const generation = record.generation;
	return { runtime, record, callId, guard: () => record.assertUsable(generation), ui: undefined };
}

interface CompactOptions {
	customInstructions?: string;
	onComplete?: (result: unknown) => void;
	onError?: (error: Error) => void;
}

/** Members that quote the call, if there is one. */
export function origin(env: ContextEnv): { callId?: number } {
	return env.callId === undefined ? {} : { callId: env.callId };
}

/** Manual compaction. With callbacks the promise never rejects; without, an ignored rejection stays quiet (§4.2). */
function compact(env: ContextEnv, given: string | CompactOptions | undefined): Promise<void> {
	const options: CompactOptions =
		typeof given === "string" ? { customInstructions: given } : isRecord(given) ? given : {};
	const { customInstructions, onComplete, onError } = options;
	const run = async () => {
		try {
			const result = await hostCallAsync("compact", {
				...origin(env),
				...(typeof customInstructions === "string" ? { customInstructions } : {}),
			});
			onComplete?.(result);
		} catch (error) {
			if (typeof onError !== "function") {
				if (typeof onComplete === "function") return;
				throw error;
			}
			onError(toError(error));
		}
	};
	return handled(run());
}

/** State after the liveness check. */
function stateOf(env: ContextEnv): HostState {
	env.guard();
	return env.runtime.state.read();
}

const hasPendingMessages = (env: ContextEnv) => () => Boolean(stateOf(env).pendingMessages);

/** Every member of a context, as a function of whose it is. Methods are made when they are read, so that they work detached. */
const MEMBERS = {
	ui: (env: ContextEnv): ExtensionUi => {
		env.guard();
		env.ui ??= createUi(new UiEnv(env.runtime, env.record, env.callId, env.guard));
		return boundView(env.runtime, env.ui);
	},
	hasUI: (env: ContextEnv): boolean => {
		env.guard();
		return env.runtime.bound?.hasUI ?? false;
	},
	mode: (env: ContextEnv): HostMode => {
		env.guard();
		return env.runtime.bound?.mode ?? "print";
	},
	cwd: (env: ContextEnv): string => {
		env.guard();
		return env.runtime.session.info.cwd;
	},
	sessionManager: (env: ContextEnv): SessionManagerView => {
		env.guard();
		return boundView(env.runtime, env.runtime.session.manager);
	},
	modelRegistry: (env: ContextEnv): ModelRegistry => {
		env.guard();
		return boundView(env.runtime, modelRegistryOf(env.record));
	},
	model: (env: ContextEnv) => stateOf(env).model ?? undefined,
	scopedModels: (env: ContextEnv) => stateOf(env).scopedModels ?? [],
	thinkingLevel: (env: ContextEnv) => stateOf(env).thinkingLevel ?? undefined,
	signal: (env: ContextEnv): AbortSignal | undefined => env.runtime.runs.signalFor(stateOf(env).runId),
	isIdle: (env: ContextEnv) => () => stateOf(env).idle,
	isProjectTrusted: (env: ContextEnv) => () => stateOf(env).trusted,
	abort: (env: ContextEnv) => (): Promise<void> => {
		env.guard();
		hostCall("abort", origin(env));
		return Promise.resolve();
	},
	hasPendingMessages,
	hasQueuedMessages: hasPendingMessages,
	shutdown: (env: ContextEnv) => (): void => {
		env.guard();
		hostCall("shutdown");
	},
	getContextUsage: (env: ContextEnv) => () => stateOf(env).contextUsage ?? undefined,
	compact:
		(env: ContextEnv) =>
		(options?: string | CompactOptions): Promise<void> => {
			env.guard();
			return compact(env, options);
		},
	getSystemPrompt: (env: ContextEnv) => (): string => stateOf(env).systemPrompt,
};

type Members = typeof MEMBERS;
export type ExtensionContext = { -readonly [K in keyof Members]: ReturnType<Members[K]> };

/** Reads a member as code of the extension whose context it is. */
function read(env: ContextEnv, member: (env: ContextEnv) => unknown): unknown {
	return bound(
		env.runtime,
		within(env.runtime, () => member(env)),
	);
}

/** A context with own, enumerable accessors. */
export function createContext(env: ContextEnv): ExtensionContext {
	const descriptors: PropertyDescriptorMap = {};
	for (const [name, member] of Object.entries(MEMBERS)) {
		descriptors[name] = { get: () => read(env, member), enumerable: true, configurable: true };
	}
	return Object.defineProperties({}, descriptors) as ExtensionContext;
}

/** A context that reads its members straight from the table; only looking at it as an object (spreading, assigning) builds one. */
export function createLightContext(env: ContextEnv): ExtensionContext {
	return onDemand(
		() => createContext(env),
		(key) => (Object.hasOwn(MEMBERS, key) ? read(env, MEMBERS[key as keyof Members]) : Reflect.get(Object.prototype, key)),
	);
}

/** `project_trust` handlers decide before the project is trusted, so they see little (§5.2). */
export function createTrustContext(env: ContextEnv) {
	const { ui, hasUI, mode, cwd } = createContext(env);
	const { select, confirm, input, notify } = ui;
	return { cwd, mode, hasUI, ui: { select, confirm, input, notify } };
}

/** Copies `source` with its getters, then adds `more` likewise; a spread would freeze the getters' values. */
export function extend<A extends object, B extends object>(source: A, more: B): A & B {
	return Object.defineProperties(source, Object.getOwnPropertyDescriptors(more)) as A & B;
}
