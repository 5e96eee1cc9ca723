// Framing: one record a line, ended by LF and by nothing else. Each byte is looked at once and copied at most once, however many chunks a line
// comes in.

const LF = 10;

/** Cuts chunks into lines. Lines are bytes: a chunk may end in the middle of a character. */
export class LineSplitter {
	#parts: Uint8Array[] = [];

	/** The lines that this chunk completes, without their LF. */
	*push(chunk: Uint8Array | string): Generator<Buffer> {
		let rest = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
		for (let at = rest.indexOf(LF); at !== -1; at = rest.indexOf(LF)) {
			yield this.#line(rest.subarray(0, at));
			rest = rest.subarray(at + 1);
		}
		if (rest.length > 0) this.#parts.push(rest);
	}

	/** What came after the last LF. */
	end(): Buffer | undefined {
		return this.#parts.length > 0 ? this.#line(new Uint8Array()) : undefined;
	}

	#line(last: Uint8Array): Buffer {
		if (this.#parts.length === 0) return Buffer.from(last.buffer, last.byteOffset, last.byteLength);
		const line = Buffer.concat([...this.#parts, last]);
		this.#parts = [];
		return line;
	}
}

/** The object on a line. Throws when it holds anything else. */
export function parseRecord(line: Buffer): { type: string } & Record<string, unknown> {
	const record: unknown = JSON.parse(line.toString("utf8"));
	if (typeof record !== "object" || record === null || !("type" in record) || typeof record.type !== "string") {
		throw new SyntaxError("the line is no object with a type");
	}
	return { ...record, type: record.type };
}
