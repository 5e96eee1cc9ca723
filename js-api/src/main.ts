// Entry of the isolate. Connects the API to the host modules' own module objects: `pi.pi` must be the very namespace that
// `import * as sdk from "@earendil-works/pi-coding-agent"` gives, so it is imported by the name under which the engine serves it to extensions
// (`node:pier/<file>`, a facade of `ext:pier/<file>` that the engine makes).

import "./api/main.ts";
import * as typebox from "node:pier/modules/@sinclair/typebox.js";
import * as codingAgent from "node:pier/modules/coding-agent.js";
import * as codingAgentOfXcsh from "node:pier/modules/coding-agent/xcsh.js";
import * as zod from "node:pier/modules/zod.js";
import { currentRuntime, setNamespaces } from "./api/index.ts";
import { setHostInfo } from "./host-modules/host-info.ts";

const runtime = currentRuntime();
const prepare = runtime.onFirstLoad;

/** What the engine's Node layer believes to be its own program. */
const NO_ENGINE_PROGRAM = "/nonexistent/javascript-engine";

/**
 * A program that runs `process.argv[1]` again gets the agent, as where the agent is a script. The Node layer takes this process's program for
 * a JavaScript engine and would rewrite the arguments of children that run it, so it is told that there is none.
 */
function nameProgram(): void {
	try {
		process.argv[1] = process.execPath;
		const { Deno } = globalThis as { Deno?: { execPath: () => string } };
		if (Deno !== undefined) Deno.execPath = () => NO_ENGINE_PROGRAM;
	} catch {
		// A package with restricted permissions may not know where programs are, nor start one.
	}
}

runtime.onFirstLoad = (header) => {
	setHostInfo(header);
	nameProgram();
	prepare?.(header);
};

setNamespaces({ pi: codingAgent, xcsh: codingAgentOfXcsh, typebox, zod });
