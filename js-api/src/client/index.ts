// The typed client of RPC mode: `import { PierClient } from "@pier/js-api/client"`. It runs in Node.js and needs no other package; docs/rpc-client.md
// shows its use. No part of it goes into the engine.

export type * from "../../types/messages.js";
export { PierClient } from "./client.js";
export type * from "./commands.js";
export { CustomComponent } from "./component.js";
export {
	type End,
	PierClosedError,
	PierCommandError,
	PierError,
	PierRunError,
	PierTimeoutError,
} from "./errors.js";
export type * from "./events.js";
export type * from "./host-tools.js";
export type { ClientEvents } from "./hub.js";
export type * from "./options.js";
export type { ProcessOptions } from "./process.js";
export { type RunResult, textOf } from "./run.js";
export { streamTransport, type Transport } from "./transport.js";
export type * from "./ui.js";
export type { WaitOptions } from "./wait.js";
