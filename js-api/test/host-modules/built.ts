// Access to what `npm run build` made, imported by Node as the engine would import it. Tests that use this need a build first.

import { existsSync, readFileSync } from "node:fs";
import { register } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

export interface BuiltModule {
	file: string;
	exports: string[];
	files: string[];
	nodeImports: string[];
	snapshot: boolean;
}

export interface Manifest {
	base: string;
	core: BuiltModule;
	modules: Record<string, BuiltModule>;
	aliases: Record<string, string>;
	prefixes: { prefix: string; module: string }[];
	packages: string[];
	fallbacks: Record<string, string>;
}

export const root = process.cwd();
export const dist = path.join(root, "dist");
const manifestPath = path.join(dist, "host-modules.json");
if (!existsSync(manifestPath)) throw new Error(`${manifestPath} is missing: run "npm run build" first`);

export const manifest = JSON.parse(readFileSync(manifestPath, "utf8")) as Manifest;

register(pathToFileURL(path.join(root, "scripts/lib/dist-hooks.mjs")).href, { data: { dist, base: manifest.base } });

// biome-ignore lint/suspicious/noExplicitAny: tests look into arbitrary modules.
type Namespace = Record<string, any>;

export function moduleId(specifier: string): string | undefined {
	return manifest.aliases[specifier] ?? manifest.prefixes.find(({ prefix }) => specifier.startsWith(prefix))?.module;
}

/** Imports by a specifier that an extension may write. */
export async function importBuilt(specifier: string): Promise<Namespace> {
	const id = moduleId(specifier) ?? manifest.fallbacks[specifier];
	const module = id === undefined ? undefined : manifest.modules[id];
	if (module === undefined) throw new Error(`No host module for ${specifier}`);
	return (await import(`${manifest.base}${module.file}`)) as Namespace;
}
