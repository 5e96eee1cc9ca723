// The table of calls that the host makes into this isolate. Routing only; every kind is one line that names its file.

import { type KindTable, setHandlers } from "../host.ts";
import { runBashExec } from "./bash-operations.ts";
import { childTool } from "./child-tools.ts";
import { checkService, collectProfile, completions, runCommand, runShortcut } from "./commands.ts";
import { dispatch } from "./dispatch.ts";
import { loadExtension } from "./load.ts";
import { runOAuth, runRefreshModels } from "./oauth.ts";
import { endRealm, realmRuntime, within } from "./realm.ts";
import { releaseToolCalls, render, transformMarkdown } from "./render.ts";
import { Runtime } from "./runtime.ts";
import { runStream } from "./stream.ts";
import { executeTool, prepareArguments, toolSession } from "./tools.ts";

/** Connects `runtime` to the host. */
export function startApi(runtime: Runtime): void {
	const tables = new WeakMap<Runtime, KindTable>();
	setHandlers(tableOf(runtime), (number, kind) => {
		const other = realmRuntime(number, kind, () => {
			const made = new Runtime();
			made.namespaces = runtime.namespaces;
			return made;
		});
		const table = tables.get(other) ?? tableOf(other);
		tables.set(other, table);
		return { table, enter: (fn) => within(other, fn) };
	});
}

function tableOf(runtime: Runtime): KindTable {
	return {
		load: (header) => loadExtension(runtime, header),
		bind: (header) => {
			runtime.bound = header;
		},
		dispatch: (header, payload) => dispatch(runtime, header, payload),
		executeTool: (header, payload) => executeTool(runtime, header, payload),
		childTool: (header, payload) => childTool(runtime, header, payload),
		prepareArguments: (header, payload) => prepareArguments(runtime, header, payload),
		toolSession: (header, payload) => toolSession(runtime, header, payload),
		runCommand: (header) => runCommand(runtime, header),
		completions: (header) => completions(runtime, header),
		shortcut: (header) => runShortcut(runtime, header),
		stream: (header, payload) => runStream(runtime, header, payload),
		oauth: (header, payload) => runOAuth(runtime, header, payload),
		refreshModels: (header, payload) => runRefreshModels(runtime, header, payload),
		serviceStatus: (header) => checkService(runtime, header),
		profileCollect: (header) => collectProfile(runtime, header),
		bashExec: (header, payload) => runBashExec(runtime, header, payload),
		render: (header, payload) => render(runtime, header, payload),
		transformMarkdown: (header, payload) => transformMarkdown(runtime, header, payload),
		component: (header) => runtime.components.handle(header),
		callback: (header, payload) => callback(runtime, header, payload),
		release: (header) => {
			runtime.callbacks.release(header.handles ?? []);
			releaseToolCalls(runtime, header.toolCalls ?? []);
		},
		abort: (header) => {
			if (header.callId !== undefined) runtime.calls.abort(header.callId, header.reason);
			if (header.runId !== undefined) runtime.runs.abort(header.runId, header.reason);
		},
		busDeliver: (header, payload) => {
			runtime.bus.deliver(header.channel, payload === undefined ? undefined : JSON.parse(payload));
		},
		flags: (header) => {
			for (const [name, value] of Object.entries(header.values)) runtime.flagValues.set(name, value);
		},
		stale: (header) => {
			const record = runtime.record(header.ext);
			if (record.profile !== "pi") return;
			record.markStale(header.message);
			// Subscriptions made through the old objects go with them (§4.5).
			runtime.bus.removeAll(record);
		},
		realmEnd: () => endRealm(runtime),
	};
}

function callback(runtime: Runtime, header: { handle: number; callId?: number }, payload: string | undefined): unknown {
	const fn = runtime.callbacks.get(header.handle);
	if (fn === undefined) throw new Error(`Callback ${header.handle} was released`);
	const args: unknown = payload === undefined ? [] : JSON.parse(payload);
	const list = Array.isArray(args) ? args : [args];
	const { callId } = header;
	return callId === undefined ? fn(list, undefined) : runtime.calls.run(callId, () => fn(list, callId));
}
