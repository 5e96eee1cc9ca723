// An object that is built only when somebody looks at it as an object. Most handlers read one or two members of their context, and
// building the whole costs more than running them.

/** Behaves as the object that `build` makes; calls it at most once, and not for plain reads, which `read` answers until then. */
export function onDemand<T extends object>(build: () => T, read: (key: PropertyKey) => unknown): T {
	let built: T | undefined;
	const real = (): T => {
		built ??= build();
		return built;
	};
	return new Proxy({} as T, {
		get: (_target, key) => (built === undefined ? read(key) : Reflect.get(built, key)),
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
