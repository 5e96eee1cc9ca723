// Builds the client that is published, src/client, into esm/: JavaScript and declarations from the same sources. Run by `npm run build`; the engine
// embeds nothing of it. The compiler writes beside esm/ first: whoever uses the client meanwhile never sees half of it, nor a file that is gone.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { mirror } from "./lib/files.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = path.join(root, "generated", `esm-${process.pid}`);
process.once("exit", () => rmSync(out, { recursive: true, force: true }));

const compiler = path.join(root, "node_modules/typescript/bin/tsc");
const run = spawnSync(process.execPath, [compiler, "-p", "tsconfig.client.json", "--outDir", out], {
	cwd: root,
	stdio: "inherit",
});
if (run.status !== 0) process.exit(run.status ?? 1);
mirror(out, path.join(root, "esm"));
