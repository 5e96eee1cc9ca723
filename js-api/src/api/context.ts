// `ExtensionContext` (§4.2): what event handlers and renderers receive. A thin handle: members look at the state when they are read.
// All members are own and enumerable, because extensions spread contexts and use methods detached.

import { hostCall, hostCallAsync } from "../host.ts";
import { handled, toError } from "./errors.ts";
import { isRecord } from "./json.ts";
import { currentModelRegistry } from "./model-registry.ts";
import type { ExtensionRecord } from "./record.ts";
import type { Runtime } from "./runtime.ts";
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
}

export function contextEnv(runtime: Runtime, record: ExtensionRecord, callId: number | undefined): ContextEnv {
	const generation = record.generation;
	return { runtime, record, callId, guard: () => record.assertUsable(generation) };
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

export function createContext(env: ContextEnv) {
	const { runtime, guard } = env;
	let ui: ExtensionUi | undefined;
	const state = () => {
		guard();
		return runtime.state.read();
	};
	const hasPendingMessages = () => Boolean(state().pendingMessages);
	return {
		get ui(): ExtensionUi {
			guard();
			ui ??= createUi(new UiEnv(runtime, env.record, env.callId, guard));
			return ui;
		},
		get hasUI(): boolean {
			guard();
			return runtime.bound?.hasUI ?? false;
		},
		get mode() {
			guard();
			return runtime.bound?.mode ?? "print";
		},
		get cwd(): string {
			guard();
			return runtime.session.info.cwd;
		},
		get sessionManager() {
			guard();
			return runtime.session.manager;
		},
		get modelRegistry() {
			guard();
			return currentModelRegistry();
		},
		get model() {
			return state().model ?? undefined;
		},
		get scopedModels() {
			return state().scopedModels ?? [];
		},
		get thinkingLevel() {
			return state().thinkingLevel ?? undefined;
		},
		get signal(): AbortSignal | undefined {
			return runtime.runs.signalFor(state().runId);
		},
		isIdle: () => state().idle,
		isProjectTrusted: () => state().trusted,
		abort: (): Promise<void> => {
			guard();
			hostCall("abort", origin(env));
			return Promise.resolve();
		},
		hasPendingMessages,
		hasQueuedMessages: hasPendingMessages,
		shutdown: (): void => {
			guard();
			hostCall("shutdown");
		},
		getContextUsage: () => state().contextUsage ?? undefined,
		compact: (options?: string | CompactOptions): Promise<void> => {
			guard();
			return compact(env, options);
		},
		getSystemPrompt: (): string => state().systemPrompt,
	};
}

export type ExtensionContext = ReturnType<typeof createContext>;

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
