// Bundles every `*.test.ts` under src/ and test/ for Node and runs them with Node's test runner.
// Packages stay external, so a test sees the same third-party modules as the sources' types.
// Arguments are file-name fragments that select tests: `npm test -- truncate`.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { findFiles } from "./lib/files.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Of this process alone: two runs at once must not take each other's files. */
const outdir = path.join(root, "generated", `test-${process.pid}`);
const wanted = process.argv.slice(2);

const entries = [
	...findFiles(path.join(root, "src"), ".test.ts"),
	...findFiles(path.join(root, "test"), ".test.ts"),
].filter((file) => wanted.length === 0 || wanted.some((fragment) => file.includes(fragment)));
if (entries.length === 0) {
	process.stderr.write(`No test matches: ${wanted.join(" ") || "(none exist)"}\n`);
	process.exit(1);
}
mkdirSync(outdir, { recursive: true });
process.once("exit", () => rmSync(outdir, { recursive: true, force: true }));
await esbuild.build({
	entryPoints: entries,
	outdir,
	outbase: root,
	bundle: true,
	format: "esm",
	platform: "node",
	target: "node20",
	packages: "external",
	external: ["ext:*"],
	sourcemap: "inline",
	logLevel: "warning",
});
const files = findFiles(outdir, ".test.js");
const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-timeout=180000", ...files], {
	cwd: root,
	stdio: "inherit",
});
process.exit(run.status ?? 1);
