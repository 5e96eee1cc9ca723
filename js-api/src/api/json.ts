// Values that cross to the host become JSON text here; frozen copies of host data are made here.
// Nothing in this file may talk to the host.

/** Any JSON value. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

/**
 * JSON text of `value`. Extensions hand over values that JSON does not know; a cycle becomes `"[Circular]"` and a bigint
 * its decimal digits, because losing one member is better than losing the whole call. A `toJSON` or getter that throws is
 * the extension's error and is reported with `where`.
 */
export function toJsonText(value: unknown, where: string): string {
	let text: string | undefined;
	try {
		text = JSON.stringify(value);
	} catch (first) {
		try {
			text = JSON.stringify(withoutCycles(value, []));
		} catch {
			const reason = first instanceof Error ? first.message : String(first);
			throw new TypeError(`Value cannot be converted to JSON (${where}): ${reason}`);
		}
	}
	return text ?? "null";
}

function withoutCycles(value: unknown, ancestors: object[]): unknown {
	if (typeof value === "bigint") return value.toString();
	if (value === null || typeof value !== "object") return value;
	if (ancestors.includes(value)) return "[Circular]";
	const toJSON = (value as { toJSON?: unknown }).toJSON;
	const path = [...ancestors, value];
	if (typeof toJSON === "function") return withoutCycles(toJSON.call(value), path);
	if (Array.isArray(value)) return value.map((item) => withoutCycles(item, path));
	const copy: Record<string, unknown> = {};
	for (const [key, member] of Object.entries(value)) copy[key] = withoutCycles(member, path);
	return copy;
}

/** A JSON copy of `value`, as the host would see it; `undefined` stays `undefined`. */
export function toJsonValue(value: unknown, where: string): JsonValue | undefined {
	return value === undefined ? undefined : (JSON.parse(toJsonText(value, where)) as JsonValue);
}

/** Freezes a JSON tree and returns it. Only for values that came out of `JSON.parse`: it does not look for cycles. */
export function deepFreeze<T>(value: T): T {
	if (value === null || typeof value !== "object") return value;
	for (const member of Object.values(value)) deepFreeze(member);
	return Object.freeze(value);
}

/** Whether `value` is a non-null object that is not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
	return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** Whether `value` is an object or function. */
export function isObjectLike(value: unknown): value is object {
	return value !== null && (typeof value === "object" || typeof value === "function");
}

/** Short description of a value's type for error messages. */
export function describeType(value: unknown): string {
	if (value === null) return "null";
	if (Array.isArray(value)) return "an array";
	if (typeof value === "object") return "an object";
	return typeof value === "undefined" ? "undefined" : `a ${typeof value}`;
}

/**
 * Path of the first member that JSON cannot carry (a function, promise, map, buffer, cycle or similar), or `undefined`.
 * Used before data leaves the isolate over the event bus, where dropping a callback in silence would break its caller.
 */
export function findNonJson(value: unknown, path: string, ancestors: object[] = []): string | undefined {
	if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") return path;
	if (value === null || typeof value !== "object") return undefined;
	if (ancestors.includes(value)) return path;
	if (typeof (value as { then?: unknown }).then === "function") return path;
	if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
		return path;
	if (typeof (value as { toJSON?: unknown }).toJSON === "function") return undefined;
	const next = [...ancestors, value];
	for (const [key, member] of Object.entries(value)) {
		const memberPath = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
		const found = findNonJson(member, memberPath, next);
		if (found !== undefined) return found;
	}
	return undefined;
}
