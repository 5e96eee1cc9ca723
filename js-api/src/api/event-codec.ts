// Events between JSON text and what handlers see: real `Set`s and signals in, in-place edits out (bridge protocol "Edits").

import { isRecord } from "./json.ts";
import type { CallScope } from "./calls.ts";

export type EventObject = Record<string, unknown> & { type?: string };

const FILE_SETS = ["read", "written", "edited"] as const;
/** Events whose handlers get a signal for the work they are about to do. */
const WITH_SIGNAL = new Set(["session_before_compact", "session_before_tree"]);

/** Parses an event and gives it the members that JSON cannot carry. */
export function reviveEvent(text: string | undefined, scope: CallScope): EventObject {
	const event: EventObject = text === undefined ? {} : (JSON.parse(text) as EventObject);
	if (event.type !== undefined && WITH_SIGNAL.has(event.type)) {
		// A getter, so that a handler that ignores the signal costs no controller.
		Object.defineProperty(event, "signal", { enumerable: true, configurable: true, get: () => scope.signal });
	}
	if (event.type === "session_before_compact" && isRecord(event.preparation)) {
		const { fileOps } = event.preparation;
		if (isRecord(fileOps)) {
			for (const member of FILE_SETS) {
				const list = fileOps[member];
				if (Array.isArray(list)) fileOps[member] = new Set(list);
			}
		}
	}
	return event;
}

/** Copy of `preparation` with arrays in place of sets. */
function plainPreparation(preparation: unknown): unknown {
	if (!isRecord(preparation) || !isRecord(preparation.fileOps)) return preparation;
	const fileOps = { ...preparation.fileOps };
	for (const member of FILE_SETS) {
		const value = fileOps[member];
		if (value instanceof Set) fileOps[member] = [...value];
	}
	return { ...preparation, fileOps };
}

/** Watches the members of an event that a handler may edit. */
export class EditWatch {
	readonly #event: EventObject;
	readonly #before: string | undefined;
	readonly #names: readonly string[];
	readonly #originals: Map<string, unknown>;

	constructor(event: EventObject, names: readonly string[]) {
		this.#event = event;
		this.#names = names;
		this.#originals = new Map(names.map((name) => [name, event[name]]));
		this.#before = this.#text();
	}

	/**
	 * What the host should see of each member. Replacing a member counts only for `tool_result`, where later handlers see it;
	 * elsewhere the original object is what goes on being used (§5.7, §10).
	 */
	#visible(name: string): unknown {
		const value = this.#event.type === "tool_result" ? this.#event[name] : this.#originals.get(name);
		return name === "preparation" ? plainPreparation(value) : value;
	}

	#members(): Record<string, unknown> {
		const members: Record<string, unknown> = {};
		for (const name of this.#names) {
			const value = this.#visible(name);
			if (value !== undefined) members[name] = value;
		}
		return members;
	}

	#text(): string | undefined {
		try {
			return JSON.stringify(this.#members());
		} catch {
			return undefined;
		}
	}

	/** The edited members, or `undefined` when nothing changed. */
	changes(): { event: Record<string, unknown>; assigned?: string[] } | undefined {
		const after = this.#text();
		if (after !== undefined && after === this.#before) return undefined;
		const assigned =
			this.#event.type === "tool_result"
				? this.#names.filter((name) => this.#event[name] !== this.#originals.get(name))
				: [];
		const event = this.#members();
		return assigned.length === 0 ? { event } : { event, assigned };
	}
}
