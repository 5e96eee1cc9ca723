// The environment as values, and errors by code.

/** The environment variables of the isolate. */
export const $env: Record<string, string | undefined> = new Proxy({} as Record<string, string | undefined>, {
	get: (_target, key) => (typeof key === "string" ? process.env[key] : undefined),
	set: (_target, key, value) => {
		if (typeof key === "string") process.env[key] = String(value);
		return true;
	},
	has: (_target, key) => Reflect.has(process.env, key),
	ownKeys: () => Reflect.ownKeys(process.env),
	getOwnPropertyDescriptor: (_target, key) => {
		const descriptor = Reflect.getOwnPropertyDescriptor(process.env, key);
		return descriptor === undefined ? undefined : { ...descriptor, configurable: true };
	},
});

const OFF = new Set(["", "0", "false", "no", "off", "n"]);

/** Whether a variable is set to something that means yes. */
export function $flag(name: string, fallback = false): boolean {
	const value = process.env[name];
	return value === undefined ? fallback : !OFF.has(value.trim().toLowerCase());
}

/** True for the error of a missing file or directory. */
export function isEnoent(error: unknown): error is NodeJS.ErrnoException {
	return error instanceof Error && (error as NodeJS.ErrnoException).code === "ENOENT";
}
