// Listeners by the name of an event, and events one by one.

import { PierError, type PierClosedError, guarded } from "./errors.js";
import type { PierEvent, PierEvents } from "./events.js";

/** What can be listened to: every event of Pier by its type, all of them under `*`, and two of the client itself. */
export interface ClientEvents extends PierEvents {
	/** Every record that is no response, those of types that this client does not know included. */
	"*": PierEvent;
	/** Something failed that nobody waits for: a line that is no record, a listener, a dialog's function. */
	client_error: Error;
	/** Pier ended. The error says how. */
	closed: PierClosedError;
}

type Listener<Name extends keyof ClientEvents> = (event: ClientEvents[Name]) => void;

export class EventHub {
	readonly #listeners = new Map<string, Set<(event: never) => void>>();

	/** Returns a function that ends it. */
	on<Name extends keyof ClientEvents>(name: Name, listener: Listener<Name>): () => void {
		const listeners = this.#listeners.get(name) ?? new Set();
		this.#listeners.set(name, listeners.add(listener));
		return () => {
			listeners.delete(listener);
		};
	}

	/** A record of Pier: to the listeners of its type, then to those of all. */
	record(event: PierEvent): void {
		this.#tell(event.type, event as never);
		this.#tell("*", event as never);
	}

	/** Something of the client itself. */
	own<Name extends "client_error" | "closed">(name: Name, error: ClientEvents[Name]): void {
		if (name === "client_error" && !this.#listeners.get(name)?.size) {
			// A warning of Node: to be seen, and never the end of the program.
			process.emitWarning(error);
			return;
		}
		this.#tell(name, error as never);
	}

	#tell(name: string, event: never): void {
		for (const listener of [...(this.#listeners.get(name) ?? [])]) {
			guarded(
				() => listener(event),
				// A listener of errors that fails itself must not be told so for ever.
				(error) => (name === "client_error" ? process.emitWarning(error) : this.own("client_error", error)),
			);
		}
	}
}

/** Events that wait for a loop. Nothing is lost: a loop that is too far behind fails. */
export class EventQueue implements AsyncIterableIterator<PierEvent> {
	readonly #limit: number;
	readonly #stop: () => void;
	#events: PierEvent[] = [];
	/** Events before this one were taken. */
	#head = 0;
	#end: { error?: Error } | undefined;
	readonly #waiting: (() => void)[] = [];

	/** `stop` is called when no more events are wanted. */
	constructor(limit: number, stop: () => void) {
		this.#limit = limit;
		this.#stop = stop;
	}

	push(event: PierEvent): void {
		if (this.#end !== undefined) return;
		if (this.#events.length - this.#head >= this.#limit) {
			this.#events = [];
			this.#head = 0;
			this.end(new PierError(`The loop over the events is more than ${this.#limit} events behind`));
			return;
		}
		this.#events.push(event);
		this.#waiting.shift()?.();
	}

	/** No more come. With an error the loop fails after the events that are there. */
	end(error?: Error): void {
		if (this.#end !== undefined) return;
		this.#end = error === undefined ? {} : { error };
		this.#stop();
		for (const wake of this.#waiting.splice(0)) wake();
	}

	async next(): Promise<IteratorResult<PierEvent>> {
		for (;;) {
			const event = this.#events[this.#head];
			if (event !== undefined) {
				this.#head += 1;
				if (this.#head * 2 > this.#events.length) {
					this.#events = this.#events.slice(this.#head);
					this.#head = 0;
				}
				return { done: false, value: event };
			}
			if (this.#end?.error !== undefined) {
				const { error } = this.#end;
				this.#end = {};
				throw error;
			}
			if (this.#end !== undefined) return { done: true, value: undefined };
			await new Promise<void>((resolve) => this.#waiting.push(resolve));
		}
	}

	async return(): Promise<IteratorResult<PierEvent>> {
		this.#events = [];
		this.#head = 0;
		this.end();
		return { done: true, value: undefined };
	}

	[Symbol.asyncIterator](): this {
		return this;
	}
}
