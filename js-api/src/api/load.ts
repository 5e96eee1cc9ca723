// Loads one extension: imports its module, finds the factory, runs it, and answers what it registered. All or nothing (§1.4):
// until the factory returned, the host hears of nothing, and a failed factory leaves nothing behind.

import { importModule } from "../host.ts";
import { InvalidFactoryError, toError } from "./errors.ts";
import { createExtensionApi } from "./extension-api.ts";
import { adoptReturned, customToolApi } from "./legacy.ts";
import type { LoadHeader, Registrations } from "./protocol.ts";
import { inlineFactory } from "./realm.ts";
import { ExtensionRecord } from "./record.ts";
import { collectRegistrations } from "./registration.ts";
import type { Runtime } from "./runtime.ts";

type Factory = (pi: unknown) => unknown;

/**
 * The factory of a module (§1.2): its default export, or the module itself. A CommonJS module reaches us with `module.exports` as
 * the default export, and one that a compiler wrote may keep the function in `exports.default`.
 */
export function findFactory(module: unknown, path: string): Factory {
	const candidates: unknown[] = [];
	if (module !== null && module !== undefined) {
		const outer = (module as { default?: unknown }).default ?? module;
		candidates.push(outer);
		if (typeof outer === "object" && outer !== null) candidates.push((outer as { default?: unknown }).default);
	}
	for (const candidate of candidates) if (typeof candidate === "function") return candidate as Factory;
	throw new InvalidFactoryError(path);
}

/** Handles `load`. Rejects with what the module or the factory threw. */
export async function loadExtension(runtime: Runtime, header: LoadHeader): Promise<Registrations> {
	if (runtime.records.has(header.ext)) throw new Error(`Extension ${header.ext} (${header.path}) is loaded already`);
	runtime.onFirstLoad?.(header);
	runtime.onFirstLoad = undefined;
	const record = new ExtensionRecord(header);
	for (const [name, value] of Object.entries(header.flags ?? {})) runtime.flagValues.set(name, value);
	runtime.records.set(header.ext, record);
	try {
		const factory = inlineFactory(header.entry) ?? findFactory(await importModule(header.entry), header.path);
		const surface = header.surface ?? "extension";
		const api = createExtensionApi(runtime, record);
		record.mutators = api;
		const returned = await factory(surface === "tool" ? customToolApi(runtime, record, api) : api);
		adoptReturned(api, surface, returned, header.path);
		const registrations = collectRegistrations(record, runtime.bus.channelsOf(record));
		for (const [name, value] of record.flagDefaults) {
			// pi: the first extension's default stays; xcsh: the last one wins (§7.3).
			if (record.profile === "xcsh" || !runtime.flagValues.has(name)) runtime.flagValues.set(name, value);
		}
		// Values that the command line set win over every default.
		for (const [name, value] of Object.entries(header.flags ?? {})) runtime.flagValues.set(name, value);
		record.phase = "active";
		return registrations;
	} catch (thrown) {
		record.fail();
		runtime.bus.removeAll(record);
		throw toError(thrown);
	}
}
