// Runs commands, shortcuts, completions, service checks and profile collectors: the small calls that find one registered function and run it.

import { createCommandContext } from "./command-context.ts";
import { isRecord } from "./json.ts";
import type { HandlerKinds } from "./protocol.ts";
import type { Runtime } from "./runtime.ts";

function missing(kind: string, name: string, path: string): Error {
	return new Error(`${kind} "${name}" is not registered by ${path}`);
}

export function runCommand(runtime: Runtime, header: HandlerKinds["runCommand"]): unknown {
	const record = runtime.record(header.ext);
	const command = record.commands.get(header.command);
	if (command === undefined) throw missing("Command", header.command, record.path);
	return runtime.calls.run(header.callId, async () => {
		await command.handler(header.args, createCommandContext(runtime, record, header.callId));
	});
}

export function runShortcut(runtime: Runtime, header: HandlerKinds["shortcut"]): unknown {
	const record = runtime.record(header.ext);
	const shortcut = record.shortcuts.get(header.key);
	if (shortcut === undefined) throw missing("Shortcut", header.key, record.path);
	return runtime.calls.run(header.callId, async () => {
		await shortcut.handler(createCommandContext(runtime, record, header.callId));
	});
}

/** Argument completions: a list of items, or `null` for none. Items may be plain strings. */
export async function completions(runtime: Runtime, header: HandlerKinds["completions"]): Promise<unknown> {
	const record = runtime.record(header.ext);
	const command = record.commands.get(header.command);
	if (command === undefined) throw missing("Command", header.command, record.path);
	const items = await command.getArgumentCompletions?.(header.prefix);
	if (!Array.isArray(items)) return null;
	return items.map((item) => {
		if (!isRecord(item)) return { value: String(item), label: String(item) };
		return { ...item, value: String(item.value), label: String(item.label ?? item.value) };
	});
}

export function checkService(runtime: Runtime, header: HandlerKinds["serviceStatus"]): unknown {
	const record = runtime.record(header.ext);
	const service = record.serviceStatus.get(header.name);
	if (service === undefined) throw missing("Service", header.name, record.path);
	return runtime.calls.run(header.callId, async () => service.check());
}

export function collectProfile(runtime: Runtime, header: HandlerKinds["profileCollect"]): unknown {
	const record = runtime.record(header.ext);
	const collector = record.profileCollectors.get(header.id);
	if (collector === undefined) throw missing("Profile collector", header.id, record.path);
	return runtime.calls.run(header.callId, async () => {
		if (!(await collector.available())) return { available: false };
		return { available: true, profile: await collector.collect() };
	});
}
