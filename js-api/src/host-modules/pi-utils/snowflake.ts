// Ids that sort by time: 42 bits of milliseconds since the epoch below, then a sequence of 22 bits, as 16 hex digits.

/** 2020-01-01T00:00:00Z, in milliseconds. */
const EPOCH = 1_577_836_800_000n;
const SEQUENCE_BITS = 22n;
const SEQUENCE_MASK = (1n << SEQUENCE_BITS) - 1n;

let lastTime = 0n;
let sequence = 0n;

function next(timestamp: number): string {
	const time = BigInt(timestamp) - EPOCH;
	if (time === lastTime) sequence = (sequence + 1n) & SEQUENCE_MASK;
	else {
		lastTime = time;
		// A random start keeps two processes apart; half of the range stays for this millisecond.
		sequence = BigInt(Math.floor(Math.random() * 2 ** 21));
	}
	return ((time << SEQUENCE_BITS) | sequence).toString(16).padStart(16, "0");
}

function isValid(id: string): boolean {
	return /^[0-9a-f]{16}$/.test(id);
}

/** Milliseconds since 1970 at which an id was made. @throws on text that is no id */
function getTimestamp(id: string): number {
	if (!isValid(id)) throw new TypeError(`Not a snowflake id: ${id}`);
	return Number((BigInt(`0x${id}`) >> SEQUENCE_BITS) + EPOCH);
}

export const Snowflake = {
	next: (timestamp: number = Date.now()): string => next(timestamp),
	isValid,
	getTimestamp,
	getDate: (id: string): Date => new Date(getTimestamp(id)),
};
