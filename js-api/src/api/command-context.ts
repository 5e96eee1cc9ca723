// `ExtensionCommandContext` (§4.3): the base context plus control over the session. Given to commands and shortcuts, never to events.
// The host rejects calls that would wait for the run they are part of.

import { hostCall, hostCallAsync } from "../host.ts";
import { contextEnv, type ContextEnv, createContext, extend, type ExtensionContext } from "./context.ts";
import { isRecord } from "./json.ts";
import { sendMessage, sendUserMessage } from "./messages.ts";
import type { SessionControlResult } from "./protocol-methods.ts";
import type { ExtensionRecord } from "./record.ts";
import type { Runtime } from "./runtime.ts";
import { SetupSessionManager } from "./session-manager.ts";

type WithSession = (ctx: unknown) => unknown;

interface ReplaceOptions {
	withSession?: WithSession;
}

interface NewSessionOptions extends ReplaceOptions {
	parentSession?: string;
	setup?: (sessionManager: SetupSessionManager) => unknown;
}

/** Handle of a callback that receives the context of the new session; made when the host calls it, so it is not stale. */
function withSessionHandle(env: ContextEnv, options: ReplaceOptions | undefined): number | undefined {
	const callback = options?.withSession;
	if (typeof callback !== "function") return undefined;
	return env.runtime.callbacks.add((_args, callId) =>
		callback(createReplacedContext(env.runtime, env.record, callId ?? env.callId)),
	);
}

function setupHandle(env: ContextEnv, options: NewSessionOptions | undefined): number | undefined {
	const setup = options?.setup;
	if (typeof setup !== "function") return undefined;
	return env.runtime.callbacks.add((_args, callId) => {
		const id = callId ?? env.callId;
		if (id === undefined) throw new Error("newSession: the host called setup without a call id");
		return setup(new SetupSessionManager(env.runtime.session, id));
	});
}

function defined(fields: Record<string, unknown>): Record<string, unknown> {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Context of a command or shortcut. */
export function createCommandContext(runtime: Runtime, record: ExtensionRecord, callId: number) {
	return addSessionControl(contextEnv(runtime, record, callId), callId);
}

function addSessionControl(env: ContextEnv, callId: number) {
	const { runtime, record, guard } = env;
	const base: ExtensionContext = createContext(env);
	// xcsh spreads the context, which takes the model as it is now (§4.1).
	if (record.profile === "xcsh") {
		Object.defineProperty(base, "model", { value: base.model, enumerable: true, configurable: true, writable: true });
	}
	const inBackground = () => runtime.flavor === "background";

	/** Runs a session change and releases the callbacks it was given, whatever happens. */
	const replacing = async (
		run: (handles: { withSession?: number; setup?: number }) => Promise<SessionControlResult>,
		withSession: number | undefined,
		setup?: number,
	): Promise<SessionControlResult> => {
		try {
			const handles: { withSession?: number; setup?: number } = {};
			if (withSession !== undefined) handles.withSession = withSession;
			if (setup !== undefined) handles.setup = setup;
			return await run(handles);
		} finally {
			runtime.callbacks.release([withSession, setup]);
		}
	};

	const fork = async (
		entryId: string,
		options?: ReplaceOptions & { position?: "before" | "at" },
	): Promise<SessionControlResult> => {
		guard();
		if (typeof entryId !== "string") throw new TypeError("fork: entryId must be a string");
		const position = options?.position ?? "before";
		if (position !== "before" && position !== "at") throw new TypeError('fork: position must be "before" or "at"');
		if (inBackground()) return { cancelled: true };
		return replacing(
			(handles) => hostCallAsync("fork", { callId, entryId, position, ...handles }),
			withSessionHandle(env, options),
		);
	};

	return extend(base, {
		waitForIdle: async (): Promise<void> => {
			guard();
			await hostCallAsync("waitForIdle", { callId });
		},
		newSession: async (options?: NewSessionOptions): Promise<SessionControlResult> => {
			guard();
			if (inBackground()) return { cancelled: true };
			const parent = options?.parentSession;
			return replacing(
				(handles) =>
					hostCallAsync("newSession", {
						callId,
						...(typeof parent === "string" ? { parentSession: parent } : {}),
						...handles,
					}),
				withSessionHandle(env, options),
				setupHandle(env, options),
			);
		},
		fork,
		branch: (entryId: string): Promise<SessionControlResult> => fork(entryId, { position: "before" }),
		navigateTree: async (targetId: string, options?: unknown): Promise<SessionControlResult> => {
			guard();
			if (typeof targetId !== "string") throw new TypeError("navigateTree: targetId must be a string");
			if (inBackground()) return { cancelled: true };
			const { summarize, customInstructions, replaceInstructions, label } = isRecord(options) ? options : {};
			return hostCallAsync("navigateTree", {
				callId,
				targetId,
				...defined({ summarize, customInstructions, replaceInstructions, label }),
			});
		},
		switchSession: async (path: string, options?: ReplaceOptions): Promise<SessionControlResult> => {
			guard();
			if (typeof path !== "string") throw new TypeError("switchSession: path must be a string");
			if (inBackground()) return { cancelled: true };
			return replacing(
				(handles) => hostCallAsync("switchSession", { callId, path, ...handles }),
				withSessionHandle(env, options),
			);
		},
		reload: async (): Promise<void> => {
			guard();
			if (inBackground()) return;
			await hostCallAsync("reload", { callId });
		},
		getSystemPromptOptions: (): Record<string, unknown> => {
			guard();
			return hostCall("systemPromptOptions");
		},
	});
}

export type CommandContext = ReturnType<typeof addSessionControl>;

/** What `withSession` receives: a command context of the new session that can also send messages. */
function createReplacedContext(runtime: Runtime, record: ExtensionRecord, callId: number | undefined) {
	if (callId === undefined) throw new Error("The host called withSession without a call id");
	const env = contextEnv(runtime, record, callId);
	return extend(addSessionControl(env, callId), {
		sendMessage: async (message: unknown, options?: unknown): Promise<void> => {
			env.guard();
			sendMessage(runtime, record, message, options);
		},
		sendUserMessage: async (content: unknown, options?: unknown): Promise<void> => {
			env.guard();
			sendUserMessage(runtime, record, content, options);
		},
	});
}
