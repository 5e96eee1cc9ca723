// Libraries that `pi` offers as members and that the host does not bring along: the extension's own copy (§1.6, §2.1).

interface ModuleBuiltin {
	createRequire(from: string): (specifier: string) => object;
}

/**
 * The package `name` as the extension at `entry` (a file URL) would import it.
 * @throws when it is not installed there
 */
export function installedLibrary(name: string, entry: string): object {
	const builtin = globalThis.process?.getBuiltinModule?.("node:module") as ModuleBuiltin | undefined;
	try {
		if (builtin !== undefined) return builtin.createRequire(entry)(name);
	} catch {
		// Said below, in words that tell what to do.
	}
	throw new Error(`pi.${name} needs the package "${name}": install it in the extension's folder`);
}
