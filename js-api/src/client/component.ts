// A component of an extension on the client's screen: pictures come, keys go.

import type { CustomRequest, Picture } from "./ui.js";

/** What a component needs of the connection. */
export interface ComponentPort {
	input(id: string, data: string): void;
	cancel(id: string): void;
}

/** Iterating gives the picture of now and then each newer one; pictures that were replaced before they were looked at are left out. */
export class CustomComponent implements AsyncIterable<Picture> {
	readonly id: string;
	/** It covers what is there, instead of taking the editor's place. */
	readonly overlay: boolean;
	readonly #port: ComponentPort;
	readonly #closed = new AbortController();
	#picture: Picture;
	#version = 0;
	#wake: () => void = () => undefined;
	#change: Promise<void>;

	constructor(request: CustomRequest, port: ComponentPort) {
		this.id = request.id;
		this.overlay = request.overlay;
		this.#port = port;
		this.#picture = picture(request);
		this.#change = this.#next();
	}

	/** What it looks like now. */
	get picture(): Picture {
		return this.#picture;
	}

	/** Fires when the component is to be removed from the screen. */
	get signal(): AbortSignal {
		return this.#closed.signal;
	}

	/** Sends keys, as a terminal would. */
	input(data: string): void {
		if (!this.signal.aborted) this.#port.input(this.id, data);
	}

	/** Closes it from this side; the extension's call gives `undefined`. */
	close(): void {
		if (this.signal.aborted) return;
		this.#port.cancel(this.id);
		this.closed();
	}

	async *[Symbol.asyncIterator](): AsyncGenerator<Picture, void, undefined> {
		let seen = -1;
		while (!this.signal.aborted) {
			if (seen === this.#version) {
				await this.#change;
			} else {
				seen = this.#version;
				yield this.#picture;
			}
		}
	}

	/** @internal A new picture came. */
	drawn(next: Picture): void {
		this.#picture = picture(next);
		this.#version += 1;
		this.#wake();
		this.#change = this.#next();
	}

	/** @internal Pier, or this side, has closed it. */
	closed(): void {
		this.#closed.abort();
		this.#wake();
	}

	#next(): Promise<void> {
		return new Promise((resolve) => {
			this.#wake = resolve;
		});
	}
}

function picture({ lines, cursor }: Picture): Picture {
	return cursor === undefined ? { lines } : { lines, cursor };
}
