// The other end of a client's connection, in memory: what the client wrote, one record after the other, and a pen to answer with.

import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { type ClientOptions, PierClient, streamTransport } from "../../src/client/index.js";

// biome-ignore lint/suspicious/noExplicitAny: records of every kind, looked at by the tests
export type Any = any;

export class FakePier {
	readonly client: PierClient;
	/** Errors that nobody waited for. */
	readonly errors: Error[] = [];
	readonly #output = new PassThrough();
	readonly #records: AsyncIterator<Any>;

	constructor(options: ClientOptions = {}) {
		const input = new PassThrough();
		this.#records = records(input);
		this.client = new PierClient(streamTransport(this.#output, input), options);
		this.client.on("client_error", (error) => this.errors.push(error));
		input.once("finish", () => this.#output.end());
	}

	/** The next record of the client. */
	async next(type?: string): Promise<Any> {
		const { value } = await this.#records.next();
		if (type !== undefined) assert.equal(value?.type, type);
		return value;
	}

	send(record: object): void {
		this.raw(`${JSON.stringify(record)}\n`);
	}

	raw(bytes: string | Uint8Array): void {
		this.#output.write(bytes);
	}

	/** Takes the next command and answers it. */
	async answer(type: string, data?: unknown): Promise<Any> {
		const command = await this.next(type);
		this.send({ id: command.id, type: "response", command: type, success: true, data });
		return command;
	}

	ask(method: string, members: object = {}): void {
		this.send({ type: "extension_ui_request", id: method, method, ...members });
	}

	/** Breaks the connection off. */
	vanish(): void {
		this.#output.end();
	}

	/** Everything that was written until now has been read and handled. */
	async handled(): Promise<void> {
		const name = `barrier-${Math.random()}`;
		const seen = this.client.waitFor("*", { where: (event: Any) => event.type === name, timeout: 5000 });
		this.send({ type: name });
		await seen;
		await new Promise((resolve) => setImmediate(resolve));
	}
}

async function* records(input: PassThrough): AsyncGenerator<Any> {
	let text = "";
	for await (const chunk of input) {
		text += chunk;
		const lines = text.split("\n");
		text = lines.pop() ?? "";
		for (const line of lines) yield JSON.parse(line);
	}
}

/** An assistant message with one block of text. */
export function answerMessage(text: string, more: object = {}): object {
	return { role: "assistant", content: [{ type: "text", text }], stopReason: "stop", timestamp: 0, ...more };
}
