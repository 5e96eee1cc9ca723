// A queue that is pushed to and iterated once, with a final result: the contract of assistant message streams (sdk-exports §3.2).
// Used when the model library did not give its own class, and by tests.

import type { EventStreamLike } from "./types.ts";

type Waiting = (result: IteratorResult<unknown>) => void;

/** Ends with the first `done` or `error` event, whose message is the result. Later pushes are ignored. */
export class MessageEventStream implements EventStreamLike {
	readonly #queue: unknown[] = [];
	readonly #waiting: Waiting[] = [];
	#ended = false;
	#resolve: (message: unknown) => void = () => {};
	readonly #result = new Promise<unknown>((resolve) => {
		this.#resolve = resolve;
	});

	push(event: unknown): void {
		if (this.#ended) return;
		const { type, message, error } = event as { type?: string; message?: unknown; error?: unknown };
		const next = this.#waiting.shift();
		if (next === undefined) this.#queue.push(event);
		else next({ value: event, done: false });
		if (type === "done") this.end(message);
		else if (type === "error") this.end(error);
	}

	end(result?: unknown): void {
		if (this.#ended) return;
		this.#ended = true;
		this.#resolve(result);
		for (const waiting of this.#waiting.splice(0)) waiting({ value: undefined, done: true });
	}

	result(): Promise<unknown> {
		return this.#result;
	}

	[Symbol.asyncIterator](): AsyncIterator<unknown> {
		return {
			next: () => {
				if (this.#queue.length > 0) return Promise.resolve({ value: this.#queue.shift(), done: false });
				if (this.#ended) return Promise.resolve({ value: undefined, done: true });
				return new Promise((resolve) => this.#waiting.push(resolve));
			},
		};
	}
}
