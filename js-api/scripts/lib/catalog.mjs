// What the host provides: module ids, their sources, and every specifier that leads to them.
// Data only. Deciding which specifier wins over the file system is the engine's job; this file says what exists.

/** The four scopes under which the host packages are published. */
export const SCOPES = ["@earendil-works", "@mariozechner", "@oh-my-pi", "@f5-sales-demo"];

/** Scopes whose packages publish every source file as a subpath, so that deep imports of any name are legal there. */
export const OPEN_SCOPES = ["@oh-my-pi", "@f5-sales-demo"];

/** Names of the packages below each scope, with the module id of their root; `open` for the other scopes' own edition. */
export const SCOPED_PACKAGES = [
	{ name: "pi-coding-agent", module: "coding-agent", open: "coding-agent/xcsh" },
	{ name: "pi-ai", module: "pi-ai" },
	{ name: "pi-tui", module: "pi-tui" },
	{ name: "pi-agent-core", module: "pi-agent-core" },
	{ name: "pi-utils", module: "pi-utils", scopes: OPEN_SCOPES },
	{ name: "pi-natives", module: "pi-utils", scopes: OPEN_SCOPES },
];

/** Modules with a source of our own: id -> file below src/. */
export const OWN_MODULES = {
	"coding-agent": "host-modules/coding-agent/index.ts",
	"coding-agent/xcsh": "host-modules/coding-agent/xcsh.ts",
	"pi-ai": "host-modules/pi-ai/index.ts",
	"pi-ai/oauth": "host-modules/pi-ai/oauth.ts",
	"pi-tui": "host-modules/pi-tui/index.ts",
	"pi-agent-core": "host-modules/pi-agent-core.ts",
	"pi-utils": "host-modules/pi-utils/index.ts",
	"pier/providers": "providers/index.ts",
};

/** Packages that are passed through unchanged: module id = specifier. */
export const PASSED_THROUGH = [
	...["", "/compile", "/error", "/format", "/guard", "/schema", "/system", "/type", "/value"].map(
		(sub) => `typebox${sub}`,
	),
	...["", "/compiler", "/errors", "/parser", "/syntax", "/system", "/type", "/value"].map(
		(sub) => `@sinclair/typebox${sub}`,
	),
];

/** Packages used only when the extension has no copy of its own. */
export const FALLBACKS = ["zod", "zod/v4", "zod/v3", "zod/mini", "zod/v4/core"];

/** Subpaths of the model library that are ours, or that other spellings lead to. */
export const AI_SUBPATH_ALIASES = {
	compat: "pi-ai",
	oauth: "pi-ai/oauth",
	"utils/oauth": "pi-ai/oauth",
};

/**
 * Every exact alias: specifier -> module id.
 * @param aiSubpaths published subpaths of the model library that have a module of their own (`api/lazy`, `models`, ...)
 */
export function exactAliases(aiSubpaths) {
	const aliases = {};
	for (const id of PASSED_THROUGH) aliases[id] = id;
	// The old package name had one spelling for the compiler, the new one another; both are in use under the old name.
	aliases["@sinclair/typebox/compile"] = "typebox/compile";

	for (const scope of SCOPES) {
		const isOpen = OPEN_SCOPES.includes(scope);
		for (const { name, module, open = module, scopes } of SCOPED_PACKAGES) {
			if (scopes === undefined || scopes.includes(scope)) aliases[`${scope}/${name}`] = isOpen ? open : module;
		}
		for (const subpath of aiSubpaths) aliases[`${scope}/pi-ai/${subpath}`] = `pi-ai/${subpath}`;
		for (const [subpath, module] of Object.entries(AI_SUBPATH_ALIASES)) aliases[`${scope}/pi-ai/${subpath}`] = module;
		aliases[`${scope}/pi-coding-agent/hooks`] = isOpen ? "coding-agent/xcsh" : "coding-agent";
		aliases[`${scope}/pi-tui/package.json`] = "pi-tui/package.json";
		aliases[`${scope}/pi-agent-core/package.json`] = "pi-agent-core/package.json";
	}
	aliases["@mariozechner/pi-agent"] = "pi-agent-core";
	aliases["@earendil-works/pi-agent"] = "pi-agent-core";
	aliases["@f5-sales-demo/xcsh"] = "coding-agent/xcsh";
	// The entry that the host itself loads.
	aliases["pier:providers"] = "pier/providers";
	return aliases;
}

/** Deep imports of any name: the longest matching prefix wins over "not published". */
export function prefixAliases() {
	const prefixes = [{ prefix: "@f5-sales-demo/xcsh/", module: "coding-agent/xcsh" }];
	for (const scope of OPEN_SCOPES) {
		for (const { name, module, open = module } of SCOPED_PACKAGES)
			prefixes.push({ prefix: `${scope}/${name}/`, module: open });
	}
	return prefixes.sort((a, b) => b.prefix.length - a.prefix.length || (a.prefix < b.prefix ? -1 : 1));
}

/** Package names that belong to the host: a subpath that no alias covers is an error, never a file-system look-up. */
export function hostPackages() {
	const names = new Set([
		"typebox",
		"@sinclair/typebox",
		"@f5-sales-demo/xcsh",
		"@mariozechner/pi-agent",
		"@earendil-works/pi-agent",
	]);
	for (const scope of SCOPES) {
		for (const { name, scopes } of SCOPED_PACKAGES) {
			if (scopes === undefined || scopes.includes(scope)) names.add(`${scope}/${name}`);
		}
	}
	return [...names].sort();
}
