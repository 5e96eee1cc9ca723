// A free-standing event bus, for code that wants one of its own. `pi.events` is another object, connected to the host.

export interface EventBus {
	emit(channel: string, data: unknown): void;
	on(channel: string, handler: (data: unknown) => void): () => void;
}

export interface EventBusController extends EventBus {
	/** Removes all handlers. */
	clear(): void;
}

/**
 * Handlers run in the order of registration, before `emit` returns. One that throws or rejects does not stop the others; its error goes to
 * `onError`.
 */
export function createEventBus(
	onError: (channel: string, error: unknown) => void = (channel, error) => {
		// biome-ignore lint/suspicious/noConsole: what an extension prints goes to the host's log, and there is no other place for this.
		console.error(`Event handler error (${channel}):`, error);
	},
): EventBusController {
	const handlers = new Map<string, Set<{ run: (data: unknown) => unknown }>>();
	return {
		emit(channel, data) {
			for (const { run } of [...(handlers.get(channel) ?? [])]) {
				try {
					const result = run(data);
					if (result instanceof Promise) result.catch((error: unknown) => onError(channel, error));
				} catch (error) {
					onError(channel, error);
				}
			}
		},
		on(channel, handler) {
			const entry = { run: handler };
			const list = handlers.get(channel) ?? new Set();
			handlers.set(channel, list.add(entry));
			return () => {
				list.delete(entry);
			};
		},
		clear() {
			handlers.clear();
		},
	};
}

/** oh-my-pi and xcsh: the bus as a class. */
export class EventBusClass implements EventBusController {
	readonly emit: EventBus["emit"];
	readonly on: EventBus["on"];
	readonly clear: () => void;

	constructor() {
		const bus = createEventBus();
		this.emit = bus.emit;
		this.on = bus.on;
		this.clear = bus.clear;
	}
}
