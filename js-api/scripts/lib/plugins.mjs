// esbuild plugins that make third-party packages fit an isolate. Each says which package needs it and why.
import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import path from "node:path";

const BUILTINS = new Set(builtinModules.filter((name) => !name.startsWith("_")));

/**
 * Node's built-in modules stay imports, always spelled `node:x`. A CommonJS `require("x")` inside an ESM bundle would become a
 * run-time `require`, which an isolate's built-in modules do not have; it becomes a static import of the default export.
 */
export function nodeBuiltins() {
	return {
		name: "node-builtins",
		setup(build) {
			build.onResolve({ filter: /^(node:)?[a-z0-9_/]+$/ }, (args) => {
				const name = args.path.replace(/^node:/, "");
				if (!BUILTINS.has(name)) return undefined;
				if (args.kind !== "require-call" && args.kind !== "require-resolve") {
					return { path: `node:${name}`, external: true, sideEffects: false };
				}
				return { path: name, namespace: "node-require" };
			});
			build.onLoad({ filter: /.*/, namespace: "node-require" }, (args) => ({
				contents: `module.exports = require("node-default:${args.path}").default;`,
				loader: "js",
			}));
			build.onResolve({ filter: /^node-default:/ }, (args) => ({
				path: args.path.slice("node-default:".length),
				namespace: "node-default",
			}));
			build.onLoad({ filter: /.*/, namespace: "node-default" }, (args) => ({
				contents: `import value from "node:${args.path}"; export { value as default };`,
				loader: "js",
			}));
		},
	};
}

/** Replaces a package's file or import, only for the importers named. `build` fails when a replacement was never used. */
const REPLACEMENTS = [
	{
		// Prebuilt native helpers cannot exist inside the runtime; looking for them needs a file URL that a built-in module lacks.
		importer: /pi-tui\/dist\/native-platform\.js$/,
		specifier: /^\.\/native-module-path\.js$/,
		contents: "export function getNativeModuleCandidates() { return []; }",
	},
	{
		importer: /pi-tui\/dist\/native-platform\.js$/,
		specifier: /^node:module$/,
		contents: `export function createRequire() {
			return (name) => { throw new Error("Native module " + name + " is not available in this host."); };
		}`,
	},
	{
		// The global is set up after the module was evaluated into the snapshot, so it must be looked up at each use.
		importer: /pi-tui\/dist\/tui\.js$/,
		specifier: /^node:perf_hooks$/,
		contents: "export const performance = { now: () => globalThis.performance.now() };",
	},
	{
		// The CommonJS build would read `process` while it is evaluated.
		importer: /./,
		specifier: /^yaml$/,
		file: "yaml/browser/index.js",
	},
];

export function replacements(resolvePackageFile) {
	return {
		name: "replacements",
		setup(build) {
			for (const [index, rule] of REPLACEMENTS.entries()) {
				build.onResolve({ filter: rule.specifier }, (args) => {
					if (!rule.importer.test(args.importer.replaceAll("\\", "/"))) return undefined;
					if (rule.file !== undefined) return { path: resolvePackageFile(rule.file) };
					return { path: `${index}`, namespace: "replacement" };
				});
			}
			build.onLoad({ filter: /.*/, namespace: "replacement" }, (args) => ({
				contents: REPLACEMENTS[Number(args.path)].contents,
				loader: "js",
			}));
		},
	};
}

/**
 * The library's look-up of API keys imports `node:fs` and friends as a side effect at import, and concludes once and for all that it runs in a
 * browser when that has not finished. Static imports have no such window and leave nothing to do at import.
 */
export function staticNodeImports() {
	const eagerBlock = /\/\/ Eagerly load in Node\.js\/Bun environment only\nif \(typeof process[\s\S]*?\n\}\n/;
	const slots = /let _existsSync = null;\nlet _homedir = null;\nlet _join = null;\n/;
	return {
		name: "static-node-imports",
		setup(build) {
			build.onLoad({ filter: /pi-ai[\\/]dist[\\/]env-api-keys\.js$/ }, async (args) => {
				const source = await readFile(args.path, "utf8");
				if (!eagerBlock.test(source) || !slots.test(source)) {
					throw new Error(`${args.path} no longer has the block that scripts/lib/plugins.mjs replaces; read it anew.`);
				}
				const contents = source
					.replace(slots, "")
					.replace(
						eagerBlock,
						[
							'import { existsSync as _existsSync } from "node:fs";',
							'import { homedir as _homedir } from "node:os";',
							'import { join as _join } from "node:path";',
							"",
						].join("\n"),
					);
				return { contents, loader: "js" };
			});
		},
	};
}

/**
 * A V8 snapshot cannot hold ICU objects. The component library makes two segmenters while it is evaluated; here they are made at their first use.
 */
export function lazySegmenters() {
	const constructed = /^const (graphemeSegmenter|wordSegmenter) = new Intl\.Segmenter\(/gm;
	const helper = `
function lazySegmenter(locale, options) {
	let segmenter;
	const get = () => (segmenter ??= new Intl.Segmenter(locale, options));
	return { segment: (text) => get().segment(text), resolvedOptions: () => get().resolvedOptions() };
}
`;
	return {
		name: "lazy-segmenters",
		setup(build) {
			build.onLoad({ filter: /pi-tui[\\/]dist[\\/]utils\.js$/ }, async (args) => {
				const source = await readFile(args.path, "utf8");
				const contents = source.replace(constructed, "const $1 = lazySegmenter(");
				if ((source.match(constructed) ?? []).length !== 2 || contents.includes("new Intl.Segmenter(")) {
					throw new Error(
						`${args.path} no longer makes its segmenters as scripts/lib/plugins.mjs expects; read it anew.`,
					);
				}
				return { contents: contents + helper, loader: "js" };
			});
		},
	};
}

/**
 * The catalogue is a megabyte of model descriptions in every isolate's heap, and hardly an extension looks into it. Here each provider's chat
 * models are the body of a function that V8 compiles when somebody first looks; the other kinds are few and read while the library is evaluated.
 * The library's root makes all its providers at once, which would look into every catalogue; it makes them at their first use instead.
 */
export function lazyModelCatalogs() {
	const generated =
		/import values from "(\.\/data\/[\w-]+\.json)"[\s\S]*export const (\w+)_MODELS = flattenChatModelCatalog\([\s\S]*export const \2_IMAGE_MODELS = flattenImageModelCatalog\([\s\S]*export const \2_CLASSIFIER_MODELS = flattenClassifierModelCatalog\(/;
	const helper = `
		export function lazyCatalog(make) {
			const models = {};
			let isMade = false;
			const traps = {};
			for (const trap of ["defineProperty", "deleteProperty", "get", "getOwnPropertyDescriptor", "has", "isExtensible", "ownKeys", "preventExtensions", "set"]) {
				traps[trap] = (...args) => {
					if (!isMade) {
						isMade = true;
						Object.assign(models, make());
					}
					return Reflect[trap](...args);
				};
			}
			return new Proxy(models, traps);
		}`;
	return {
		name: "lazy-model-catalogs",
		setup(build) {
			build.onResolve({ filter: /^pier:lazy-catalog$/ }, (args) => ({ path: args.path, namespace: "lazy-catalog" }));
			build.onLoad({ filter: /.*/, namespace: "lazy-catalog" }, () => ({ contents: helper, loader: "js" }));
			build.onLoad({ filter: /pi-ai[\\/]dist[\\/]providers[\\/][\w-]+\.models\.js$/ }, async (args) => {
				const shape = generated.exec(await readFile(args.path, "utf8"));
				if (shape === null) {
					throw new Error(`${args.path} is no longer generated as scripts/lib/plugins.mjs expects; read it anew.`);
				}
				const [, data, name] = shape;
				const groups = JSON.parse(await readFile(path.join(path.dirname(args.path), data), "utf8"));
				const models = Object.values(groups).flatMap((group) => Object.values(group));
				const ofType = (type) =>
					JSON.stringify(Object.fromEntries(models.filter((model) => model.type === type).map((model) => [model.id, model])));
				const contents = [
					'import { lazyCatalog } from "pier:lazy-catalog";',
					`export const ${name}_MODELS = lazyCatalog(() => (${ofType("chat")}));`,
					`export const ${name}_IMAGE_MODELS = ${ofType("image")};`,
					`export const ${name}_CLASSIFIER_MODELS = ${ofType("classifier")};`,
				].join("\n");
				return { contents, loader: "js" };
			});
			build.onLoad({ filter: /pi-ai[\\/]dist[\\/]compat\.js$/ }, async (args) => {
				const source = await readFile(args.path, "utf8");
				const declared = "const compatModels = builtinModels();";
				if (source.split(declared).length !== 2) {
					throw new Error(`${args.path} no longer makes its providers as scripts/lib/plugins.mjs expects; read it anew.`);
				}
				const contents = source
					.replaceAll("compatModels.", "compatModels().")
					.replace(declared, "let madeModels;\nconst compatModels = () => (madeModels ??= builtinModels());");
				return { contents, loader: "js" };
			});
		},
	};
}
