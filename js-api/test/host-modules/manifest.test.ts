// The manifest covers every specifier that extensions write, and every file it names is there and imports.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { dist, importBuilt, manifest, moduleId, root } from "./built.ts";

const packages = path.join(root, "node_modules/@earendil-works");
const PI_SCOPES = ["@earendil-works", "@mariozechner"];
const ALL_SCOPES = [...PI_SCOPES, "@oh-my-pi", "@f5-sales-demo"];

/** Subpath without "./" -> file, for every run-time subpath that a package publishes. Patterns are expanded over the files there are. */
function published(name: string): Map<string, string> {
	const directory = path.join(packages, name);
	const manifestJson = JSON.parse(readFileSync(path.join(directory, "package.json"), "utf8"));
	const subpaths = new Map<string, string>();
	const entries = manifestJson.exports ?? { ".": { import: `./${manifestJson.main}` } };
	for (const [key, target] of Object.entries<{ import?: string } | string>(entries)) {
		const file = typeof target === "string" ? target : target.import;
		if (file === undefined) continue;
		if (!key.includes("*")) {
			subpaths.set(key === "." ? "" : key.slice(2), path.join(directory, file));
			continue;
		}
		const [before = "", after = ""] = file.split("*");
		for (const found of readdirSync(path.join(directory, before), { recursive: true }).map(String)) {
			if (!found.endsWith(after)) continue;
			const star = found.slice(0, -after.length);
			subpaths.set(key.slice(2).replace("*", star), path.join(directory, before, found));
		}
	}
	return subpaths;
}

test("every published subpath of the host packages resolves under both pi scopes", () => {
	let count = 0;
	for (const name of ["pi-coding-agent", "pi-ai", "pi-tui", "pi-agent-core"]) {
		for (const subpath of published(name).keys()) {
			// The program's own entry for subprocesses; not a library.
			if (subpath === "rpc-entry") continue;
			for (const scope of PI_SCOPES) {
				const specifier = `${scope}/${name}${subpath === "" ? "" : `/${subpath}`}`;
				const id = manifest.aliases[specifier];
				assert.ok(id !== undefined && manifest.modules[id] !== undefined, `${specifier} is not in the manifest`);
				count++;
			}
		}
	}
	assert.ok(count > 300, `only ${count} specifiers were looked at`);
});

test("a subpath of the model library has at least the exports of the real file", async () => {
	for (const [subpath, file] of published("pi-ai")) {
		// Both are the extension view, which the next test looks at.
		if (subpath === "" || subpath === "compat") continue;
		const built = manifest.modules[moduleId(`@earendil-works/pi-ai/${subpath}`) ?? ""];
		assert.ok(built, subpath);
		const real = Object.keys(await import(pathToFileURL(file).href));
		assert.deepEqual(
			real.filter((name) => !built.exports.includes(name)),
			[],
			`exports missing from ${subpath}`,
		);
	}
});

test("the root of the model library is the compatibility view with TypeBox", async () => {
	const compat = Object.keys(await import(pathToFileURL(path.join(packages, "pi-ai/dist/compat.js")).href));
	const built = await importBuilt("@earendil-works/pi-ai");
	for (const name of [...compat, "Type", "getBundledModel", "getBuiltinModel", "Effort", "getOAuthApiKey"]) {
		assert.ok(name in built, `${name} is missing`);
	}
	assert.equal(built, await importBuilt("@mariozechner/pi-ai/compat"));
	assert.deepEqual(JSON.parse(JSON.stringify(built.StringEnum(["a", "b"], { description: "d" }))), {
		type: "string",
		enum: ["a", "b"],
		description: "d",
	});
	assert.equal(built.getModel("anthropic", "claude-sonnet-4-5").provider, "anthropic");
});

test("old and foreign spellings lead to the same modules", () => {
	const expected: Record<string, string> = {
		"@mariozechner/pi-agent": "pi-agent-core",
		"@mariozechner/pi-coding-agent/hooks": "coding-agent",
		"@earendil-works/pi-ai/utils/oauth": "pi-ai/oauth",
		"@oh-my-pi/pi-ai/utils/oauth": "pi-ai/oauth",
		"@oh-my-pi/pi-ai/some/deep/file": "pi-ai",
		"@oh-my-pi/pi-tui/components/text": "pi-tui",
		"@oh-my-pi/pi-natives": "pi-utils",
		"@f5-sales-demo/pi-utils": "pi-utils",
		"@oh-my-pi/pi-coding-agent/hooks": "coding-agent/xcsh",
		"@oh-my-pi/pi-coding-agent/session/messages": "coding-agent/xcsh",
		"@f5-sales-demo/xcsh": "coding-agent/xcsh",
		"@f5-sales-demo/xcsh/config/settings": "coding-agent/xcsh",
		"@f5-sales-demo/xcsh/config/model-registry": "coding-agent/xcsh",
		"@sinclair/typebox/compiler": "@sinclair/typebox/compiler",
		"@sinclair/typebox/compile": "typebox/compile",
		"@sinclair/typebox/value": "@sinclair/typebox/value",
		"typebox/value": "typebox/value",
	};
	for (const scope of ALL_SCOPES) {
		expected[`${scope}/pi-coding-agent`] = PI_SCOPES.includes(scope) ? "coding-agent" : "coding-agent/xcsh";
		expected[`${scope}/pi-tui`] = "pi-tui";
		expected[`${scope}/pi-ai`] = "pi-ai";
		expected[`${scope}/pi-agent-core`] = "pi-agent-core";
	}
	for (const [specifier, id] of Object.entries(expected)) assert.equal(moduleId(specifier), id, specifier);
});

test("pi's own packages have no subpaths beyond the published ones, and are known as host packages", () => {
	for (const specifier of ["@earendil-works/pi-ai/dist/compat.js", "@mariozechner/pi-tui/dist/utils.js"]) {
		assert.equal(moduleId(specifier), undefined, specifier);
	}
	for (const name of ["@earendil-works/pi-ai", "@f5-sales-demo/xcsh", "typebox", "@sinclair/typebox"]) {
		assert.ok(manifest.packages.includes(name), name);
	}
	assert.ok(!manifest.packages.includes("zod"), "an installed zod must win");
});

test("every file that a built file imports exists", () => {
	const pattern = /(?:from|import)\s*\(?["'](?:ext|node):pier\/([^"']+)["']/g;
	const files = readdirSync(dist, { recursive: true })
		.map(String)
		.filter((name) => name.endsWith(".js"));
	assert.ok(files.length > 200);
	for (const file of files) {
		for (const [, target = ""] of readFileSync(path.join(dist, file), "utf8").matchAll(pattern)) {
			if (target !== "host.js") assert.ok(existsSync(path.join(dist, target)), `${file} imports ${target}`);
		}
	}
});

test("what belongs into the snapshot evaluates without touching its environment", () => {
	const light = [
		"coding-agent",
		"coding-agent/xcsh",
		"pi-ai",
		"pi-tui",
		"pi-agent-core",
		"pi-utils",
		"typebox",
		"@sinclair/typebox",
	];
	for (const module of [manifest.core, ...light.map((id) => manifest.modules[id])]) {
		assert.ok(module?.snapshot, module?.file);
		assert.ok(!module.nodeImports.includes("node:crypto"), module.file);
		assert.ok(!module.nodeImports.includes("node:module"), module.file);
	}
});

test("the built files name no path of the machine that built them", () => {
	for (const { file } of Object.values(manifest.modules)) {
		assert.ok(!readFileSync(path.join(dist, file), "utf8").includes(root), file);
	}
});
