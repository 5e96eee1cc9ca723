// Entry of the isolate. Connects the API to the host modules' own module objects: `pi.pi` must be the very namespace that
// `import * as sdk from "@earendil-works/pi-coding-agent"` gives, so it is imported by the name under which the engine serves it to extensions
// (`node:pier/<file>`, a facade of `ext:pier/<file>` that the engine makes).

import "./api/main.ts";
import * as typebox from "node:pier/modules/@sinclair/typebox.js";
import * as codingAgent from "node:pier/modules/coding-agent.js";
import * as zod from "node:pier/modules/zod.js";
import { currentRuntime, setNamespaces } from "./api/index.ts";
import { setHostInfo } from "./host-modules/host-info.ts";

const runtime = currentRuntime();
const prepare = runtime.onFirstLoad;

/** A program that runs `process.argv[1]` again gets the agent, as where the agent is a script. */
function nameProgram(): void {
	try {
		process.argv[1] = process.execPath;
	} catch {
		// A package with restricted permissions may not know where programs are, nor start one.
	}
}

runtime.onFirstLoad = (header) => {
	setHostInfo(header);
	nameProgram();
	prepare?.(header);
};

setNamespaces({ pi: codingAgent, typebox, zod });
