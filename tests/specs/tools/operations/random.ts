// Reproducible pseudo-random input for tests that compare two implementations.

export class Random {
	private state: number;

	constructor(seed: number) {
		this.state = seed >>> 0;
	}

	/** Mulberry32: small, and good enough to vary test input. */
	next(): number {
		this.state = (this.state + 0x6d2b79f5) >>> 0;
		let value = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
		value = (value + Math.imul(value ^ (value >>> 7), value | 61)) ^ value;
		return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
	}

	/** Between `low` and `high`, both included. */
	integer(low: number, high: number): number {
		return low + Math.floor(this.next() * (high - low + 1));
	}

	pick<T>(items: readonly T[]): T {
		const item = items[this.integer(0, items.length - 1)];
		if (item === undefined) throw new Error("nothing to pick from");
		return item;
	}

	/** Up to `count` pieces, joined. */
	text(pieces: readonly string[], count: number): string {
		return Array.from({ length: this.integer(0, count) }, () => this.pick(pieces)).join("");
	}
}
