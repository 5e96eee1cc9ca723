// Values that one relative returns directly and another as a promise (§11.2): usable at once, and `await` gives a plain copy.

/**
 * Adds a hidden `then` that resolves to `plain`. `plain` must not be thenable itself, or awaiting would never end.
 */
export function thenable<T extends object>(value: T, plain: T): T {
	// biome-ignore lint/suspicious/noThenProperty: being awaitable is the purpose.
	Object.defineProperty(value, "then", {
		enumerable: false,
		configurable: true,
		writable: true,
		value: (onResolve?: (value: T) => unknown, onReject?: (reason: unknown) => unknown) =>
			Promise.resolve(plain).then(onResolve, onReject),
	});
	return value;
}
