// `pi.events` (§9): delivery by reference inside the isolate, in registration order over all its extensions; copies go to other
// isolates through the host. A listener's failure never reaches the emitter.

import { hostCall } from "../host.ts";
import { findNonJson } from "./json.ts";
import type { ExtensionRecord } from "./record.ts";
import type { Runtime } from "./runtime.ts";

type Listener = (data: unknown) => unknown;

interface Subscription {
	record: ExtensionRecord;
	listener: Listener;
}

export interface ExtensionEventBus {
	emit(channel: string, data?: unknown): void;
	on(channel: string, handler: Listener): () => void;
	clear(): void;
}

export class EventBus {
	readonly #runtime: Runtime;
	readonly #channels = new Map<string, Subscription[]>();

	constructor(runtime: Runtime) {
		this.#runtime = runtime;
	}

	/** Channels on which `record` listens. */
	channelsOf(record: ExtensionRecord): string[] {
		const names: string[] = [];
		for (const [channel, subscriptions] of this.#channels) {
			if (subscriptions.some((s) => s.record === record)) names.push(channel);
		}
		return names;
	}

	subscribe(record: ExtensionRecord, channel: string, listener: Listener): () => void {
		if (typeof channel !== "string") throw new TypeError("events.on: channel must be a string");
		if (typeof listener !== "function") throw new TypeError(`events.on("${channel}"): handler must be a function`);
		const isNew = !this.#channels.get(channel)?.some((s) => s.record === record);
		const subscription: Subscription = { record, listener };
		// A new array each time: an emission in progress keeps walking the list it started with.
		this.#channels.set(channel, [...(this.#channels.get(channel) ?? []), subscription]);
		if (isNew) this.#runtime.announce(record, { bus: [channel] });
		return () => this.#remove(channel, (s) => s === subscription);
	}

	#remove(channel: string, matches: (subscription: Subscription) => boolean): void {
		const before = this.#channels.get(channel);
		if (before === undefined) return;
		const after = before.filter((s) => !matches(s));
		if (after.length === before.length) return;
		if (after.length === 0) this.#channels.delete(channel);
		else this.#channels.set(channel, after);
		const gone = new Set(before.filter(matches).map((s) => s.record));
		for (const record of gone) {
			if (after.some((s) => s.record === record)) continue;
			try {
				this.#runtime.retract(record, "bus", channel);
			} catch (error) {
				this.#runtime.report(record.ext, `events:${channel}`, error);
			}
		}
	}

	/** Removes every listener of `record`. */
	removeAll(record: ExtensionRecord): void {
		for (const channel of [...this.#channels.keys()]) this.#remove(channel, (s) => s.record === record);
	}

	emit(record: ExtensionRecord, channel: string, data: unknown): void {
		if (typeof channel !== "string") throw new TypeError("events.emit: channel must be a string");
		this.deliver(channel, data);
		if (record.phase !== "active") return;
		if (!(hostCall("bus.targets", { channel }) > 0)) return;
		const culprit = findNonJson(data, "data");
		if (culprit !== undefined) {
			this.#runtime.report(
				record.ext,
				`events:${channel}`,
				new TypeError(
					`The payload of event "${channel}" was not delivered to other packages: ${culprit} has no JSON form and cannot leave its isolate`,
				),
			);
			return;
		}
		hostCall("bus.emit", { ext: record.ext, channel, data: data ?? null });
	}

	/** Runs the listeners of this isolate. The synchronous part of each runs before this returns. */
	deliver(channel: string, data: unknown): void {
		for (const { record, listener } of this.#channels.get(channel) ?? []) {
			try {
				const outcome = listener(data);
				if (outcome instanceof Promise) {
					outcome.catch((error) => this.#runtime.report(record.ext, `events:${channel}`, error));
				}
			} catch (error) {
				this.#runtime.report(record.ext, `events:${channel}`, error);
			}
		}
	}

	/** The object that `pi.events` is, for one extension. `check` guards every member except unsubscribing. */
	facade(record: ExtensionRecord, check: () => void): ExtensionEventBus {
		return {
			emit: (channel, data) => {
				check();
				this.emit(record, channel, data);
			},
			on: (channel, handler) => {
				check();
				return this.subscribe(record, channel, handler);
			},
			clear: () => {
				check();
				this.removeAll(record);
			},
		};
	}
}
