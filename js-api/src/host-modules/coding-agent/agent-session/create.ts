// `createAgentSession`: a session of its own in the same process, on the same core (sdk-exports §2.2).

import { extend } from "../../../api/context.ts";
import { isRecord } from "../../../api/json.ts";
import { forgetFactories, keepFactories } from "../../../api/realm.ts";
import { describeTool } from "../../../api/registration.ts";
import { currentRuntime } from "../../../api/runtime.ts";
import { createToolContext } from "../../../api/tool-context.ts";
import type { ToolDefinition } from "../../../api/types.ts";
import { checkTool } from "../../../api/validate.ts";
import { hostCallAsync } from "../../../host.ts";
import { getSessionCwd, resolveFrom } from "../../host-info.ts";
import { SessionManager } from "../session-manager.ts";
import { SettingsManager } from "../settings.ts";
import { type ExtensionsResult, factoriesOf, factoryList, fromLoader, type ResourceLoader } from "./resource-loader.ts";
import { AgentSession } from "./session.ts";

export interface CreateAgentSessionOptions {
	/** Default: that of the running session. */
	cwd?: string;
	agentDir?: string;
	/** Default: as for a new session of the user. */
	model?: unknown;
	thinkingLevel?: string;
	scopedModels?: { model: unknown; thinkingLevel?: string }[];
	/** `all`: none at all; `builtin`: only those of extensions and `customTools`. */
	noTools?: "all" | "builtin";
	/** Names or patterns of the only tools, or changes to the default ones (`+name`, `-name`). */
	tools?: (string | { name: string })[];
	excludeTools?: string[];
	customTools?: unknown[];
	resourceLoader?: ResourceLoader;
	/** xcsh: extensions as functions, behind those of the loader. */
	extensions?: unknown[];
	/** Default: a new file among the project's sessions. */
	sessionManager?: SessionManager;
	settingsManager?: SettingsManager;
	[other: string]: unknown;
}

export interface CreateAgentSessionResult {
	session: AgentSession;
	extensionsResult: ExtensionsResult;
	modelFallbackMessage?: string;
}

/** Context of a custom tool: that of this extension, `ui` included, with the started session's state. */
function toolContext(session: AgentSession, ext: number, callId: number): unknown {
	const runtime = currentRuntime();
	return extend(createToolContext(runtime, runtime.record(ext), callId), {
		get cwd() {
			return session.sessionManager.getCwd();
		},
		get sessionManager() {
			return session.sessionManager;
		},
		get model() {
			return session.model;
		},
		get thinkingLevel() {
			return session.thinkingLevel;
		},
		get scopedModels() {
			return session.scopedModels;
		},
		get tools() {
			return session.getAllTools();
		},
		isIdle: () => session.isIdle,
		hasPendingMessages: () => session.pendingMessageCount > 0,
		hasQueuedMessages: () => session.pendingMessageCount > 0,
		abort: () => session.agent.abort(),
		shutdown: () => undefined,
		getContextUsage: () => session.getContextUsage(),
		getSystemPrompt: () => session.systemPrompt,
		compact: (options?: string | { customInstructions?: string }) =>
			session.compact(typeof options === "string" ? options : options?.customInstructions),
	});
}

/** Starts a session. It ends with `session.dispose()`, and at the latest with this extension. */
export async function createAgentSession(options: CreateAgentSessionOptions = {}): Promise<CreateAgentSessionResult> {
	const runtime = currentRuntime();
	const tools = new Map<string, ToolDefinition>();
	for (const given of options.customTools ?? []) {
		const tool = checkTool(given);
		tools.set(tool.name, tool);
	}
	const cwd = options.cwd ?? options.sessionManager?.getCwd();
	const sessionManager = options.sessionManager ?? SessionManager.create(cwd ?? getSessionCwd());
	const settingsManager = options.settingsManager ?? SettingsManager.create();
	const names = options.tools?.map((tool) => (isRecord(tool) ? String(tool.name) : String(tool)));
	const request = {
		cwd: cwd === undefined ? undefined : resolveFrom(getSessionCwd(), cwd),
		agentDir: options.agentDir,
		model: options.model,
		thinkingLevel: options.thinkingLevel,
		scopedModels: options.scopedModels ?? [],
		noTools: options.noTools,
		tools: names,
		excludeTools: options.excludeTools ?? [],
		customTools: [...tools.values()].map(describeTool),
		session: options.sessionManager === undefined ? { kind: "new" } : sessionManager.place(),
		...settingsManager.forSession(),
		...(options.resourceLoader === undefined ? {} : await fromLoader(options.resourceLoader)),
	};
	const factories = [...factoriesOf(options.resourceLoader), ...factoryList("extensions", options.extensions)];
	const inline = factories.length === 0 ? undefined : keepFactories(factories);
	if (inline !== undefined) Object.assign(request, { inline: { token: inline, count: factories.length } });
	const callId = runtime.calls.current;
	const creating = hostCallAsync("child.create", { ...(callId === undefined ? {} : { callId }), request });
	const created = await creating.catch((error: unknown) => {
		if (inline !== undefined) forgetFactories(inline);
		throw error;
	});
	const { session: id, ext } = created;
	const session = new AgentSession({
		id,
		ext,
		sessionManager,
		settingsManager,
		resourceLoader: options.resourceLoader,
		inline,
	});
	if (tools.size > 0) {
		runtime.childTools.set(id, { tools, context: (call) => toolContext(session, ext, call) });
	}
	return {
		session,
		extensionsResult: {
			extensions: created.extensions.map((path) => ({ path, resolvedPath: path })),
			errors: created.errors,
		},
		...(created.modelFallbackMessage === undefined ? {} : { modelFallbackMessage: created.modelFallbackMessage }),
	};
}
