// The way to Pier and back: what a client needs, and how two streams become it. A child process is in process.ts.

import type { Readable, Writable } from "node:stream";
import type { End } from "./errors.js";

/** Carries lines to Pier and bytes back. */
export interface Transport {
	/** What Pier writes. Ends when Pier does. */
	readonly output: AsyncIterable<Uint8Array | string>;
	/** Resolves when the text was taken, so that no more is written than the other side reads. One call at a time. */
	write(text: string): Promise<void>;
	/** Ends Pier's input, upon which it ends in order. */
	end(): void;
	/** Ends Pier at once; `SIGKILL` must not fail to. */
	kill(signal: "SIGTERM" | "SIGKILL"): void;
	/** How it ended. Resolves after the end and never rejects. */
	readonly ended: Promise<End>;
}

/** Writes to a stream, one text after the other. */
export function writeTo(stream: Writable): (text: string) => Promise<void> {
	// Without a listener a broken pipe would end this process; every writer learns of it by its own promise.
	stream.on("error", () => undefined);
	return (text) =>
		new Promise((resolve, reject) => {
			stream.write(text, (error) => (error ? reject(error) : resolve()));
		});
}

/** A connection that exists already: a socket (twice the same stream), a container's streams, a test. */
export function streamTransport(output: Readable, input: Writable): Transport {
	return {
		output,
		write: writeTo(input),
		end: () => input.end(),
		kill() {
			input.destroy();
			output.destroy();
		},
		ended: new Promise((resolve) => {
			const ended = () => resolve({ code: null, signal: null, stderr: "" });
			output.once("end", ended).once("close", ended).once("error", ended);
		}),
	};
}
