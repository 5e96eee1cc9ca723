// An object that is built when it is first looked at. Most handlers never touch their context, and building one costs more than running them.

/** Behaves as the object that `build` makes; calls it at most once. */
export function onDemand<T extends object>(build: () => T): T {
	let built: T | undefined;
	const real = (): T => {
		built ??= build();
		return built;
	};
	return new Proxy({} as T, {
		get: (_target, key) => Reflect.get(real(), key),
		set: (_target, key, value) => Reflect.set(real(), key, value),
		has: (_target, key) => Reflect.has(real(), key),
		ownKeys: () => Reflect.ownKeys(real()),
		getPrototypeOf: () => Reflect.getPrototypeOf(real()),
		deleteProperty: (_target, key) => Reflect.deleteProperty(real(), key),
		defineProperty: (_target, key, descriptor) =>
			Reflect.defineProperty(real(), key, { ...descriptor, configurable: true }),
		getOwnPropertyDescriptor: (_target, key) => {
			const descriptor = Reflect.getOwnPropertyDescriptor(real(), key);
			// The stand-in has no such property itself, so it may only be shown as configurable.
			return descriptor === undefined ? undefined : { ...descriptor, configurable: true };
		},
		preventExtensions: () => false,
	});
}
