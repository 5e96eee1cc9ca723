// A host in memory for tests of the extension API: records every call, keeps a small session and state, and sends calls to the isolate side
// as JSON text, exactly as the engine does.

import { startApi } from "../../src/api/handler.ts";
import type { BindHeader, LoadHeader, Registrations, SessionEntry } from "../../src/api/protocol.ts";
import { Runtime, useRuntime } from "../../src/api/runtime.ts";
import { connectHost, type HostHandler, type HostPort } from "../../src/host.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests look into arbitrary JSON.
export type Any = any;

export interface RecordedCall {
	method: string;
	args: Any;
}

type SyncAnswer = (args: Any) => unknown;
type AsyncAnswer = (args: Any) => unknown;

export class FakeHost implements HostPort {
	readonly calls: RecordedCall[] = [];
	readonly modules = new Map<string, Record<string, unknown>>();
	readonly sync: Record<string, SyncAnswer> = {};
	readonly async: Record<string, AsyncAnswer> = {};
	readonly entries: SessionEntry[] = [];
	epoch = 1;
	leafId: string | null = null;
	sessionName: string | undefined;
	stateVersion = 1;
	state: Record<string, unknown> = {
		idle: true,
		pendingMessages: 0,
		activeTools: ["read", "bash"],
		systemPrompt: "You are Pier.",
		trusted: true,
		scopedModels: [],
		thinkingLevel: "off",
		sessionEpoch: 1,
		sessionVersion: 0,
	};
	#handler: HostHandler | undefined;
	#nextCall = 100;

	constructor() {
		Object.assign(this.sync, {
			stateVersion: () => this.stateVersion,
			state: () => ({ ...this.state, version: this.stateVersion }),
			"session.sync": ({ epoch, version }: Any) => this.#syncSession(epoch, version),
			appendEntry: ({ customType, data }: Any) => ({ id: this.append({ type: "custom", customType, data }) }),
			setEntryLabel: ({ entryId, label }: Any) => {
				this.append({ type: "label", targetId: entryId, label });
			},
			setSessionName: ({ name }: Any) => {
				this.sessionName = name;
				this.stateVersion++;
			},
			setActiveTools: ({ names }: Any) => this.setState({ activeTools: names }),
			setThinkingLevel: ({ level }: Any) => this.setState({ thinkingLevel: level }),
			"run.watch": () => ({ aborted: false }),
			allTools: () => [{ name: "read", description: "Reads", parameters: {} }],
			commands: () => [],
			models: () => [],
			providers: () => [],
			settings: () => ({}),
			"bus.targets": () => 0,
		} satisfies Record<string, SyncAnswer>);
	}

	setState(change: Record<string, unknown>): void {
		Object.assign(this.state, change);
		this.stateVersion++;
	}

	append(entry: { type: string; [member: string]: unknown }): string {
		const id = (this.entries.length + 1).toString(16).padStart(8, "0");
		this.entries.push({ id, parentId: this.leafId, timestamp: "2026-01-01T00:00:00.000Z", ...entry });
		this.leafId = id;
		this.stateVersion++;
		return id;
	}

	#syncSession(epoch: number, version: number): unknown {
		const reset = epoch !== this.epoch;
		return {
			epoch: this.epoch,
			version: this.entries.length,
			reset,
			entries: this.entries.slice(reset ? 0 : version),
			leafId: this.leafId,
			header: { type: "session", version: 3, id: "s1", cwd: "/project" },
			sessionFile: "/sessions/one.jsonl",
			sessionDir: "/sessions",
			sessionId: "s1",
			sessionName: this.sessionName,
			cwd: "/project",
		};
	}

	call(method: string, args: string): string | undefined {
		const parsed = JSON.parse(args);
		this.calls.push({ method, args: parsed });
		const value = this.sync[method]?.(parsed);
		return value === undefined ? undefined : JSON.stringify(value);
	}

	async callAsync(method: string, args: string): Promise<string | undefined> {
		const parsed = JSON.parse(args);
		this.calls.push({ method, args: parsed });
		const answer = this.async[method];
		if (answer === undefined) throw new Error(`fake host: no answer for ${method}`);
		const value = await answer(parsed);
		return value === undefined ? undefined : JSON.stringify(value);
	}

	setHandler(handler: HostHandler): void {
		this.#handler = handler;
	}

	async importModule(specifier: string): Promise<Record<string, unknown>> {
		const module = this.modules.get(specifier);
		if (module === undefined) throw new Error(`Cannot find module ${specifier}`);
		return module;
	}

	/** Calls into the isolate; answers the parsed result. */
	async send(kind: string, header: object = {}, payload?: unknown): Promise<Any> {
		const text = await this.sendText(kind, header, payload);
		return text === undefined ? undefined : JSON.parse(text);
	}

	/** The same without waiting, for checks of synchronous answers. */
	sendText(kind: string, header: object = {}, payload?: unknown): string | undefined | Promise<string | undefined> {
		return this.sendRaw(kind, header, payload === undefined ? undefined : JSON.stringify(payload));
	}

	/** The same with the payload's text as the host would spell it. */
	sendRaw(kind: string, header: object, payload: string | undefined): string | undefined | Promise<string | undefined> {
		if (this.#handler === undefined) throw new Error("no handler");
		return this.#handler(kind, JSON.stringify(header), payload);
	}

	named(method: string): Any[] {
		return this.calls.filter((call) => call.method === method).map((call) => call.args);
	}

	nextCallId(): number {
		return this.#nextCall++;
	}
}

export interface Fixture {
	host: FakeHost;
	runtime: Runtime;
}

export function fixture(): Fixture {
	const host = new FakeHost();
	connectHost(host);
	const runtime = useRuntime(new Runtime());
	startApi(runtime);
	return { host, runtime };
}

/** Loads `factory` as extension `ext`. */
export async function load(
	host: FakeHost,
	factory: (pi: Any) => unknown,
	header: Partial<LoadHeader> = {},
): Promise<Registrations> {
	const ext = header.ext ?? 1;
	const entry = `file:///ext/${ext}.ts`;
	host.modules.set(entry, { default: factory });
	return host.send("load", {
		ext,
		entry,
		path: `/ext/${ext}.ts`,
		profile: "pi",
		cwd: "/project",
		configDirName: ".pi",
		agentDir: "/agent",
		appName: "pier",
		version: "0.0.0",
		...header,
	});
}

export async function bind(host: FakeHost, header: Partial<BindHeader> = {}): Promise<void> {
	await host.send("bind", { mode: "print", hasUI: false, ...header });
}

/** Runs one event through the first handler of that event; answers the outcome. */
export async function emit(
	host: FakeHost,
	registrations: Registrations,
	event: { type: string; [member: string]: unknown },
	options: { ext?: number; returns?: string[]; callId?: number } = {},
): Promise<Any> {
	const handler = registrations.handlers?.find((h) => h.event === event.type);
	if (handler === undefined) throw new Error(`no handler for ${event.type}`);
	const { ext = 1, returns, callId = host.nextCallId() } = options;
	return host.send("dispatch", { ext, handler: handler.id, callId, ...(returns ? { returns } : {}) }, event);
}

/** A context of a running command: loads nothing, needs a command named `probe` that stored its context. */
export async function commandContext(
	host: FakeHost,
	header: Partial<LoadHeader> & { bind?: Partial<BindHeader> } = {},
): Promise<{ ctx: Any; pi: Any }> {
	let ctx: Any;
	let api: Any;
	const { bind: binding, ...rest } = header;
	await load(
		host,
		(pi) => {
			api = pi;
			pi.registerCommand("probe", {
				handler: (_args: string, given: Any) => {
					ctx = given;
				},
			});
		},
		rest,
	);
	await bind(host, binding);
	await host.send("runCommand", { ext: rest.ext ?? 1, command: "probe", args: "", callId: host.nextCallId() });
	return { ctx, pi: api };
}

/** Resolves when `check` holds; fails after a bounded number of turns of the event loop. */
export async function until(check: () => boolean): Promise<void> {
	for (let turn = 0; turn < 2000; turn++) {
		if (check()) return;
		await new Promise((resolve) => setImmediate(resolve));
	}
	throw new Error("condition was not met");
}
