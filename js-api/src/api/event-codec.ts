// Events between JSON text and what handlers see: real `Set`s and signals in, in-place edits out (bridge protocol "Edits").

import { isRecord } from "./json.ts";
import type { CallScope } from "./calls.ts";
import type { Profile } from "./protocol.ts";

export type EventObject = Record<string, unknown> & { type?: string };

const FILE_SETS = ["read", "written", "edited"] as const;
/** Events whose handlers get a signal for the work they are about to do. */
const WITH_SIGNAL = new Set(["session_before_compact", "session_before_tree"]);

function isEmpty(value: unknown): boolean {
	return isRecord(value) && Object.keys(value).length === 0;
}

/** Parses an event and gives it the members that JSON cannot carry. */
export function reviveEvent(text: string | undefined, scope: CallScope, profile: Profile): EventObject {
	const event: EventObject = text === undefined ? {} : (JSON.parse(text) as EventObject);
	if (event.type !== undefined && WITH_SIGNAL.has(event.type)) {
		// A getter, so that a handler that ignores the signal costs no controller.
		Object.defineProperty(event, "signal", { enumerable: true, configurable: true, get: () => scope.signal });
	}
	if (event.type === "message_update" && isRecord(event.assistantMessageEvent)) {
		// The message crosses once; a second copy would double the cost of every token.
		event.assistantMessageEvent.partial = event.message;
	}
	if (event.type === "tool_result" && profile === "xcsh" && event.isError === true && isEmpty(event.details)) {
		// A tool that threw has no details there; to pi they are an empty object (§10 step 6).
		event.details = undefined;
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

/** Watches the members of an event that a handler may edit. Costs nothing before the handler ran. */
export class EditWatch {
	readonly #event: EventObject;
	readonly #payload: string;
	readonly #names: readonly string[];
	readonly #originals: Map<string, unknown>;

	constructor(event: EventObject, payload: string, names: readonly string[]) {
		this.#event = event;
		this.#payload = payload;
		this.#names = names;
		this.#originals = new Map(names.map((name) => [name, event[name]]));
	}

	/**
	 * What the host should see of each member. Replacing a member counts only for `tool_result`, where later handlers see it;
	 * elsewhere the original object is what goes on being used (§5.7, §10).
	 */
	#members(): Record<string, unknown> {
		const members: Record<string, unknown> = {};
		for (const name of this.#names) {
			const value = this.#event.type === "tool_result" ? this.#event[name] : this.#originals.get(name);
			if (value !== undefined) members[name] = name === "preparation" ? plainPreparation(value) : value;
		}
		return members;
	}

	#unchanged(members: Record<string, unknown>): boolean {
		try {
			// Nearly always the whole event reads as it came, which one conversion shows.
			if (JSON.stringify({ ...this.#event, ...members }) === this.#payload) return true;
			// Numbers may be spelled differently by the host, and other members may differ: compare the named ones in our own spelling.
			const sent = JSON.parse(this.#payload) as Record<string, unknown>;
			const before = this.#names.filter((name) => sent[name] !== undefined).map((name) => [name, sent[name]]);
			return JSON.stringify(Object.fromEntries(before)) === JSON.stringify(members);
		} catch {
			// What the handler put in has no JSON form as it is; the general conversion deals with it.
			return false;
		}
	}

	/** The edited members, or `undefined` when nothing changed. */
	changes(): { event: Record<string, unknown>; assigned?: string[] } | undefined {
		const members = this.#members();
		if (this.#unchanged(members)) return undefined;
		const assigned =
			this.#event.type === "tool_result"
				? this.#names.filter((name) => this.#event[name] !== this.#originals.get(name))
				: [];
		return assigned.length === 0 ? { event: members } : { event: members, assigned };
	}
}
