// Splits the model library into one core file and lazily loaded pieces.
//
// The library publishes about 170 subpaths. As entry points of one build they would shatter the shared code into hundreds of chunks.
// Instead everything that its compatibility root reaches through static imports is one *group*, exported from one file under prefixed
// names (`m12_hash`); a published subpath inside the group is a file of re-exports, and what lies outside (protocol implementations
// and their SDKs, OAuth flows) is built apart and imports the group from that file, so that nothing exists twice.
import { existsSync } from "node:fs";
import path from "node:path";
import * as esbuild from "esbuild";
import { findFiles } from "./files.mjs";
import { staticNodeImports } from "./plugins.mjs";

const LIBRARY = /[\\/]node_modules[\\/]@earendil-works[\\/]/;

/** Reads the library's module graph. `root` is the package directory of js-api. */
export async function readLibrary(root) {
	const scope = path.join(root, "node_modules", "@earendil-works");
	const dist = path.join(scope, "pi-ai", "dist");
	const files = ["pi-ai", "pi-schema", "pi-telemetry"]
		.flatMap((name) => findFiles(path.join(scope, name, "dist"), ".js"))
		.filter((file) => path.basename(file) !== "cli.js");
	const result = await esbuild.build({
		entryPoints: files,
		outdir: path.join(root, "generated", "graph"),
		outbase: scope,
		absWorkingDir: root,
		bundle: true,
		splitting: true,
		format: "esm",
		platform: "node",
		write: false,
		metafile: true,
		treeShaking: false,
		logLevel: "error",
		plugins: [onlyLibrary(), staticNodeImports()],
	});
	const inputs = new Map(
		Object.entries(result.metafile.inputs).map(([name, input]) => [path.join(root, name), input.imports]),
	);
	const exportsOf = new Map();
	for (const output of Object.values(result.metafile.outputs)) {
		if (output.entryPoint !== undefined) exportsOf.set(path.join(root, output.entryPoint), [...output.exports].sort());
	}
	return { root, dist, inputs, exportsOf, subpaths: publishedSubpaths(dist) };
}

function onlyLibrary() {
	return {
		name: "only-library",
		setup(build) {
			build.onResolve({ filter: /^[^./]/ }, (args) => {
				if (args.kind === "entry-point" || args.path.startsWith("@earendil-works/")) return undefined;
				return { path: args.path, external: true };
			});
		},
	};
}

/** Published subpath -> absolute file, from the package's own `exports` map (see `catalog` for the root). */
function publishedSubpaths(dist) {
	const subpaths = new Map();
	for (const folder of ["providers", "api", "utils"]) {
		for (const file of findFiles(path.join(dist, folder), ".js")) {
			subpaths.set(path.relative(dist, file).replaceAll("\\", "/").slice(0, -".js".length), file);
		}
	}
	for (const name of [
		"models",
		"session-resources",
		"bedrock-provider",
		"bun-oauth",
		"lazy-bedrock-provider",
		"lazy-oauth",
	]) {
		const file = path.join(dist, `${name}.js`);
		if (!existsSync(file)) throw new Error(`The model library no longer publishes ${name}`);
		subpaths.set(name, file);
	}
	return subpaths;
}

/** The group: file -> {prefix, exports}. Seeds are what the root facade imports statically. */
export function makeGroup(library, seeds) {
	const group = new Map();
	const queue = seeds.map((name) => path.join(library.dist, name));
	while (queue.length > 0) {
		const file = queue.pop();
		if (group.has(file) || !library.exportsOf.has(file)) continue;
		group.set(file, { prefix: `m${group.size}_`, exports: library.exportsOf.get(file) });
		for (const imported of library.inputs.get(file) ?? []) {
			if (imported.kind === "import-statement" && !imported.external)
				queue.push(path.join(library.root, imported.path));
		}
	}
	return group;
}

/** Files outside the group that the group imports dynamically, and published files outside of it: built apart. */
export function outsideFiles(library, group) {
	const outside = new Map();
	for (const [subpath, file] of library.subpaths) if (!group.has(file)) outside.set(file, `pi-ai/${subpath}`);
	for (const file of group.keys()) {
		for (const imported of library.inputs.get(file) ?? []) {
			const target = path.join(library.root, imported.path);
			if (imported.kind !== "dynamic-import" || imported.external || group.has(target) || outside.has(target)) continue;
			outside.set(target, `pi-ai/${path.relative(library.dist, target).replaceAll("\\", "/").slice(0, -".js".length)}`);
		}
	}
	return outside;
}

function names(member) {
	return member.exports.map((name) =>
		name === "default" ? ["default", `${member.prefix}default`] : [name, `${member.prefix}${name}`],
	);
}

/** Source of the file that exports the whole group. */
export function groupSource(group) {
	let source = "";
	for (const [file, member] of group) {
		const list = names(member).map(([name, prefixed]) => `${name} as ${prefixed}`);
		if (list.length > 0) source += `export { ${list.join(", ")} } from ${JSON.stringify(file)};\n`;
	}
	return source;
}

/** Source of a file that re-exports one member of the group from `coreSpecifier`. */
export function memberSource(member, coreSpecifier) {
	const list = names(member).map(([name, prefixed]) => `${prefixed} as ${name}`);
	if (list.length === 0) return `import ${JSON.stringify(coreSpecifier)};\nexport {};\n`;
	return `export { ${list.join(", ")} } from ${JSON.stringify(coreSpecifier)};\n`;
}

/** In the group's build: a dynamic import of an outside file becomes an import of the file built for it. */
export function linkOutside(outside, specifierOf) {
	return {
		name: "link-outside",
		setup(build) {
			build.onResolve({ filter: /^\./ }, (args) => {
				if (args.kind !== "dynamic-import" || !LIBRARY.test(args.importer)) return undefined;
				const id = outside.get(path.resolve(args.resolveDir, args.path));
				return id === undefined ? undefined : { path: specifierOf(id), external: true };
			});
		},
	};
}

/** In the outside build: an import of a group member becomes an import from the group's file. */
export function linkGroup(library, group, coreSpecifier) {
	const byPackage = new Map([
		["@earendil-works/pi-schema", path.join(library.dist, "../../pi-schema/dist/index.js")],
		["@earendil-works/pi-telemetry", path.join(library.dist, "../../pi-telemetry/dist/index.js")],
	]);
	return {
		name: "link-group",
		setup(build) {
			build.onResolve({ filter: /^(\.|@earendil-works\/)/ }, (args) => {
				if (args.kind === "entry-point" || !LIBRARY.test(args.importer)) return undefined;
				const file = byPackage.get(args.path) ?? path.resolve(args.resolveDir, args.path);
				return group.has(file) ? { path: file, namespace: "pi-ai-group", sideEffects: false } : undefined;
			});
			build.onLoad({ filter: /.*/, namespace: "pi-ai-group" }, (args) => ({
				contents: memberSource(group.get(args.path), coreSpecifier),
				loader: "js",
			}));
		},
	};
}
