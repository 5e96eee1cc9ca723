// Connects `host.ts` to the engine's native functions. Importing it has that one effect.
// It must never be imported by tests: they connect a fake host instead.

import * as native from "ext:pier/host.js";
import { connectHost } from "./host.ts";

connectHost({
	call: (method, args) => native.hostCall(method, args),
	callAsync: (method, args) => native.hostCallAsync(method, args),
	setHandler: (handler) => native.setHandler(handler),
	importModule: (specifier) => native.importModule(specifier),
});
