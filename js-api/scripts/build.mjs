// Builds what the engine embeds. Run by `npm run build`; needs nothing but node_modules.
//
// Layout of dist/ (generated, never committed):
//
//   dist/core.js                 entry of the isolate: connects to `ext:pier/host.js` and installs the handler. Nothing is exported.
//   dist/modules/<id>.js         one file per host module, `<id>` as in host-modules.json (`pi-tui`, `typebox/value`, `pi-ai/api/lazy`, ...)
//   dist/chunks/*.js             code shared by the files above; imported by them, never by extensions
//   dist/host-modules.json       the manifest
//
// Files import each other by absolute specifiers `ext:pier/<path below dist>` (a scheme without a base cannot resolve relative ones), Node's
// built-in modules as `node:<name>`, and the engine's functions as `ext:pier/host.js`. The core alone imports two modules by the name under which
// the engine serves snapshotted files to extensions, `node:pier/modules/<id>.js`: `pi.pi` has to be that very namespace object.
// `PIER_JS_BASE` replaces the `ext:pier/` prefix.
//
// The manifest:
//
//   base          the prefix, "ext:pier/"
//   core          {file, files, nodeImports, snapshot}
//   modules       id -> {file, exports, files, nodeImports, snapshot, effects?}
//                   file         path below dist/
//                   exports      names of the run-time exports, sorted
//                   files        the static import closure, `file` included, in evaluation order
//                   nodeImports  Node built-ins imported statically anywhere in the closure
//                   snapshot     true when evaluation touches nothing of its environment (see lib/purity.mjs)
//   aliases       specifier -> module id; exact, wins over the file system
//   prefixes      [{prefix, module}], longest first; used when no alias matches
//   packages      names of the host packages: any other subpath of one is an error, never a file-system look-up
//   fallbacks     specifier -> module id; used when the file system has none
//
// The build fails when a replacement of third-party code no longer applies, or when the core is not fit for a snapshot.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import {
	groupSource,
	linkGroup,
	linkOutside,
	makeGroup,
	memberSource,
	outsideFiles,
	readLibrary,
} from "./lib/ai-group.mjs";
import { mirror } from "./lib/files.mjs";
import { exactAliases, FALLBACKS, hostPackages, OWN_MODULES, PASSED_THROUGH, prefixAliases } from "./lib/catalog.mjs";
import { lazyModelCatalogs, lazySegmenters, nodeBuiltins, replacements, staticNodeImports } from "./lib/plugins.mjs";
import { inspect } from "./lib/purity.mjs";

/** Names of the facades through which extensions reach snapshotted files; the engine makes them. Only the core imports by them. */
const FACADES = "node:pier/";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, "");
/** Where the build writes; `dist/` gets only what changed, so that tools which watch it by time rebuild only what they must. */
const out = path.join(root, "generated", `dist-${process.pid}`);
const base = process.env.PIER_JS_BASE ?? "ext:pier/";
const AI_CORE = "pi-ai/core-group";
/** What `src/host-modules/pi-ai` imports statically from the library. */
const AI_SEEDS = ["compat.js", "lazy-oauth.js", "lazy-bedrock-provider.js"];

const moduleFile = (id) => `modules/${id}.js`;
const specifierOf = (id) => `${base}${moduleFile(id)}`;

function virtualEntries(sources) {
	return {
		name: "virtual-entries",
		setup(build) {
			build.onResolve({ filter: /^virtual:/ }, (args) => ({ path: args.path, namespace: "virtual" }));
			build.onLoad({ filter: /.*/, namespace: "virtual" }, (args) => ({
				contents: sources[args.path.slice("virtual:".length)],
				resolveDir: path.join(root, "src"),
				loader: "js",
			}));
		},
	};
}

function options(entryPoints, plugins) {
	return {
		entryPoints,
		outdir: out,
		absWorkingDir: root,
		bundle: true,
		splitting: true,
		format: "esm",
		platform: "node",
		target: "node20",
		mainFields: ["module", "main"],
		conditions: ["import", "module"],
		publicPath: base,
		chunkNames: "chunks/[name]-[hash]",
		external: ["ext:*", `${base}*`, `${FACADES}*`],
		define: { "import.meta.url": JSON.stringify("file:///pier/host-module.js") },
		minifySyntax: true,
		minifyWhitespace: true,
		keepNames: true,
		charset: "ascii",
		legalComments: "none",
		metafile: true,
		logLevel: "warning",
		logOverride: { "empty-import-meta": "silent" },
		plugins: [
			...plugins,
			replacements((name) => path.join(root, "node_modules", name)),
			staticNodeImports(),
			lazySegmenters(),
			lazyModelCatalogs(),
			nodeBuiltins(),
		],
	};
}

const started = performance.now();
process.once("exit", () => rmSync(out, { recursive: true, force: true }));

const library = await readLibrary(root);
const group = makeGroup(library, AI_SEEDS);
const outside = outsideFiles(library, group);

const sources = {
	[AI_CORE]: groupSource(group),
	"pi-tui/package.json": `export default ${packageSummary("@earendil-works/pi-tui")};`,
	"pi-agent-core/package.json": `export default ${packageSummary("@earendil-works/pi-agent-core")};`,
};
const entries = { core: "src/main.ts" };
for (const [id, file] of Object.entries(OWN_MODULES)) entries[`modules/${id}`] = `src/${file}`;
for (const id of [...PASSED_THROUGH, ...FALLBACKS]) entries[`modules/${id}`] = id;
for (const id of Object.keys(sources)) entries[`modules/${id}`] = `virtual:${id}`;

const main = await esbuild.build(options(entries, [virtualEntries(sources), linkOutside(outside, specifierOf)]));
const rest = await esbuild.build(
	options(Object.fromEntries([...outside].map(([file, id]) => [`modules/${id}`, file])), [
		linkGroup(library, group, specifierOf(AI_CORE)),
	]),
);

const wrappers = [];
for (const [subpath, file] of library.subpaths) {
	const member = group.get(file);
	const id = `pi-ai/${subpath}`;
	if (member === undefined || OWN_MODULES[id] !== undefined) continue;
	const target = path.join(out, moduleFile(id));
	mkdirSync(path.dirname(target), { recursive: true });
	writeFileSync(target, memberSource(member, specifierOf(AI_CORE)));
	wrappers.push(id);
}

const graph = importGraph([main, rest], wrappers);
const ids = [
	...Object.keys(entries).map((name) => name.replace(/^modules\//, "")),
	...outside.values(),
	...wrappers,
].filter((id) => id !== "core" && id !== AI_CORE);
const report = await inspect({ dist: out, base, files: ["core.js", ...orderForInspection(ids).map(moduleFile)] });
const modules = {};
for (const id of ids.sort()) modules[id] = { ...describe(moduleFile(id)), exports: report.exports[moduleFile(id)] };
const aiSubpaths = ids.filter((id) => id.startsWith("pi-ai/")).map((id) => id.slice("pi-ai/".length));
const manifest = {
	version: 1,
	base,
	core: describe("core.js"),
	modules,
	aliases: sorted(exactAliases(aiSubpaths)),
	prefixes: prefixAliases(),
	packages: hostPackages(),
	fallbacks: Object.fromEntries(FALLBACKS.map((id) => [id, id])),
};
checkManifest(manifest);
writeFileSync(path.join(out, "host-modules.json"), `${JSON.stringify(manifest, null, "\t")}\n`);
mirror(out, path.join(root, "dist"));
summarise(manifest);

function packageSummary(name) {
	const { version, license } = JSON.parse(readFileSync(path.join(root, "node_modules", name, "package.json"), "utf8"));
	return JSON.stringify({ name, version, license, type: "module" });
}

/** Path below dist/ of a file that esbuild names relative to the package. */
function fromOut(name) {
	return path.relative(out, path.join(root, name)).replaceAll("\\", "/");
}

/** dist-relative file -> {imports, node}: static imports only. */
function importGraph(builds, wrapperIds) {
	const files = new Map();
	for (const { metafile } of builds) {
		for (const [name, output] of Object.entries(metafile.outputs)) {
			const record = { imports: [], node: new Set(), bytes: output.bytes };
			for (const imported of output.imports) {
				if (imported.kind !== "import-statement") continue;
				if (imported.path.startsWith(FACADES)) record.imports.push(imported.path.slice(FACADES.length));
				else if (imported.path.startsWith("node:")) record.node.add(imported.path);
				else if (imported.path.startsWith(base)) record.imports.push(imported.path.slice(base.length));
				else if (!imported.external) record.imports.push(fromOut(imported.path));
				else throw new Error(`${name} imports ${imported.path}, which nothing provides`);
			}
			files.set(fromOut(name), record);
		}
	}
	for (const id of wrapperIds) files.set(moduleFile(id), { imports: [moduleFile(AI_CORE)], node: new Set(), bytes: 0 });
	return files;
}

function closure(file, seen = new Set()) {
	if (seen.has(file) || file === "host.js") return seen;
	const record = graph.get(file);
	if (record === undefined) throw new Error(`${file} is imported but was not built`);
	// Marked before its imports (cycles), moved behind them afterwards (evaluation order).
	seen.add(file);
	for (const imported of record.imports) closure(imported, seen);
	seen.delete(file);
	seen.add(file);
	return seen;
}

/** Purity and closure of one output file. */
function describe(file) {
	const files = [...closure(file)];
	const nodeImports = [...new Set(files.flatMap((name) => [...graph.get(name).node]))].sort();
	const effects = files.flatMap((name) => (report.effects[name] ?? []).map((effect) => `${name}: ${effect}`));
	const snapshot = effects.length === 0 && !nodeImports.includes("node:crypto");
	return { file, files, nodeImports, snapshot, ...(effects.length > 0 ? { effects } : {}) };
}

/** Shared light modules first, so that effects and times are attributed to the file that causes them. */
function orderForInspection(list) {
	const rank = (id) => (outside.size > 0 && [...outside.values()].includes(id) ? 1 : 0);
	return [...list].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

function sorted(record) {
	return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function checkManifest({ aliases, prefixes, modules: known, core }) {
	for (const [specifier, id] of [...Object.entries(aliases), ...prefixes.map((p) => [p.prefix, p.module])]) {
		if (known[id] === undefined) throw new Error(`Alias ${specifier} leads to ${id}, which was not built`);
	}
	for (const [id, module] of Object.entries(known)) {
		if (module.exports === undefined)
			throw new Error(`Module ${id} could not be imported: ${report.errors[module.file]}`);
	}
	if (report.errors["core.js"] !== undefined)
		throw new Error(`core.js could not be imported: ${report.errors["core.js"]}`);
	if (!core.snapshot)
		throw new Error(`core.js is not fit for a snapshot: ${[...(core.effects ?? []), ...core.nodeImports].join("; ")}`);
}

function summarise({ modules: known, core }) {
	const size = (files) => files.reduce((sum, name) => sum + (graph.get(name).bytes ?? 0), 0);
	const shown = ["coding-agent", "pi-tui", "pi-ai", "pi-agent-core", "pi-utils", "typebox", "@sinclair/typebox", "zod"];
	const line = (name, entry) =>
		`${name.padEnd(20)} ${String(entry.files.length).padStart(3)} files ${String(Math.round(size(entry.files) / 1024)).padStart(5)} KiB  import ${(report.times[entry.file] ?? 0).toFixed(0).padStart(3)} ms  ${entry.snapshot ? "snapshot" : "lazy"}\n`;
	process.stdout.write(line("core", core));
	for (const id of shown) process.stdout.write(line(id, known[id]));
	process.stdout.write(
		`${Object.keys(known).length} modules in ${graph.size} files, built in ${((performance.now() - started) / 1000).toFixed(1)} s\n`,
	);
}
