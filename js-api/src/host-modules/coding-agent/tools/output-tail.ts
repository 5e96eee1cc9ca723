// What a command printed: its end in memory, all of it in a file once it outgrows a tool result (agent-loop §10, bash).

import { Buffer } from "node:buffer";
import { appendFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, type TruncationResult, truncateTail } from "../truncate.ts";

/** UTF-16 units kept from each end of the output for programmatic callers: 1 MiB together. */
const KEPT = 512 * 1024;

export class OutputTail {
	private readonly decoder = new TextDecoder();
	private head = "";
	private tail = "";
	private cutInTheMiddle = false;
	private bytes = 0;
	private lineFeeds = 0;
	private lineBytes = 0;
	private previousLineBytes = 0;
	private unsaved: Buffer[] | undefined = [];
	private file: string | undefined;

	push(data: Uint8Array): void {
		if (data.length === 0) return;
		const chunk = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
		this.count(chunk);
		this.add(this.decoder.decode(chunk, { stream: true }));
		this.save(chunk);
	}

	/** Call once after the last output. */
	finish(): void {
		this.add(this.decoder.decode());
	}

	private count(chunk: Buffer): void {
		this.bytes += chunk.length;
		let from = 0;
		for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
			this.lineFeeds++;
			this.previousLineBytes = this.lineBytes + at - from;
			this.lineBytes = 0;
			from = at + 1;
		}
		this.lineBytes += chunk.length - from;
	}

	private add(text: string): void {
		const room = KEPT - this.head.length;
		this.head += text.slice(0, Math.max(0, room));
		this.tail += text;
		// Trimmed in large steps: cutting at every chunk would copy the tail each time.
		if (this.tail.length > 2 * KEPT) {
			this.tail = this.tail.slice(-KEPT);
			this.cutInTheMiddle = true;
		}
	}

	private save(chunk: Buffer): void {
		if (this.unsaved === undefined && this.file === undefined) return;
		this.unsaved?.push(Buffer.from(chunk));
		if (!this.exceedsLimits()) return;
		try {
			this.file ??= join(tmpdir(), `pier-bash-${crypto.randomUUID()}.log`);
			appendFileSync(this.file, this.unsaved === undefined ? chunk : Buffer.concat(this.unsaved));
		} catch {
			// Without the right or the space to write, the output is cut and no path is shown.
			this.file = undefined;
		}
		this.unsaved = undefined;
	}

	private get totalLines(): number {
		return this.lineFeeds + (this.lineBytes > 0 ? 1 : 0);
	}

	private exceedsLimits(): boolean {
		return this.bytes > DEFAULT_MAX_BYTES || this.totalLines > DEFAULT_MAX_LINES;
	}

	/** Bytes of the last line, even of one that was cut. */
	get lastLineBytes(): number {
		return this.lineBytes > 0 ? this.lineBytes : this.previousLineBytes;
	}

	/** Path of the file with everything, when it was needed and could be written. */
	get fullOutputPath(): string | undefined {
		return this.file;
	}

	/** The end of the output within the limits of a tool result. */
	truncation(): TruncationResult {
		const result = truncateTail(this.tail);
		if (!this.exceedsLimits()) return result;
		return { ...result, truncated: true, totalLines: this.totalLines, totalBytes: this.bytes };
	}

	/** Up to 1 MiB of output for programs, cut in the middle. */
	forPrograms(): { output: string; truncated: boolean } {
		if (!this.cutInTheMiddle && this.tail.length <= 2 * KEPT) return { output: this.tail, truncated: false };
		const tail = this.tail.slice(-KEPT);
		const omitted = this.bytes - Buffer.byteLength(this.head) - Buffer.byteLength(tail);
		return { output: `${this.head}\n\n[... ${omitted} bytes omitted ...]\n\n${tail}`, truncated: true };
	}
}
