// Commands that were sent and not answered yet.

import { PierCommandError } from "./errors.js";
import { Wait, type WaitOptions } from "./wait.js";

/** A `response` record. */
export interface Response {
	type: "response";
	id?: unknown;
	command?: string;
	success: boolean;
	data?: unknown;
	error?: string;
}

interface Entry {
	readonly wait: Wait<unknown>;
	/** Runs before the next record is looked at. */
	readonly onSuccess: (data: unknown) => void;
}

export class PendingCommands {
	readonly #open = new Map<string, Entry>();
	#last = 0;

	/** Takes the next id. */
	open(command: string, bounds: WaitOptions, onSuccess: (data: unknown) => void): { id: string; wait: Wait<unknown> } {
		this.#last += 1;
		const id = `c${this.#last}`;
		const wait = new Wait<unknown>(`The response to ${command}`, bounds, () => this.#open.delete(id));
		if (!wait.over) this.#open.set(id, { wait, onSuccess });
		return { id, wait };
	}

	/** Settles the command of a response. Gives an error back when it is a failure that nobody waits for. */
	answer({ id, command, success, data, error }: Response): PierCommandError | undefined {
		const known = typeof id === "string" ? id : undefined;
		const entry = known === undefined ? undefined : this.#open.get(known);
		if (success) {
			entry?.onSuccess(data);
			entry?.wait.resolve(data);
			return undefined;
		}
		const failure = new PierCommandError(command ?? "", known, error ?? "The command failed", data);
		if (entry === undefined) return failure;
		entry.wait.reject(failure);
		return undefined;
	}

	failAll(error: Error): void {
		for (const { wait } of [...this.#open.values()]) wait.reject(error);
	}
}
