// Entry of the isolate. Connects the API to the host modules' own module objects: `pi.pi` must be the very namespace that
// `import * as sdk from "@earendil-works/pi-coding-agent"` gives, so it is imported by the name under which the engine serves it to extensions
// (`node:pier/<file>`, a facade of `ext:pier/<file>` that the engine makes).

import "./api/main.ts";
import * as typebox from "node:pier/modules/@sinclair/typebox.js";
import * as codingAgent from "node:pier/modules/coding-agent.js";
import { currentRuntime, setNamespaces } from "./api/index.ts";
import { setHostInfo } from "./host-modules/host-info.ts";

const runtime = currentRuntime();
const prepare = runtime.onFirstLoad;
runtime.onFirstLoad = (header) => {
	setHostInfo(header);
	prepare?.(header);
};

setNamespaces({ pi: codingAgent, typebox });
