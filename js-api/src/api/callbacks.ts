// Functions that the host may call later, kept by handle until the host or their owner releases them.

/** Receives the argument list and the call it runs as, if the host opened one. */
export type Callback = (args: unknown[], callId: number | undefined) => unknown;

export class CallbackTable {
	readonly #table = new Map<number, Callback>();
	#next = 1;

	add(callback: Callback): number {
		const handle = this.#next++;
		this.#table.set(handle, callback);
		return handle;
	}

	get(handle: number): Callback | undefined {
		return this.#table.get(handle);
	}

	release(handles: readonly (number | undefined)[]): void {
		for (const handle of handles) if (handle !== undefined) this.#table.delete(handle);
	}

	get size(): number {
		return this.#table.size;
	}
}
