// The JavaScript side of the engine's native functions (`src/ops.rs`): calls from the host, calls to the host, and what
// nothing caught. Part of the snapshot; it must touch no global at import and know nothing of agents.
import {
  op_import_sync,
  op_pier_call_done,
  op_pier_call_failed,
  op_pier_exiting,
  op_pier_host_call,
  op_pier_host_call_async,
  op_pier_host_module,
  op_pier_uncaught,
} from "ext:core/ops";
import { internals } from "ext:core/mod.js";
import { Module } from "node:module";

// The Node layer starts itself when its modules are first loaded. In the snapshot they already are, so `start` must do it.
const startNode = globalThis.nodeBootstrap;
delete globalThis.nodeBootstrap;

let handler = () => {
  throw new Error("this isolate has no handler for host calls");
};

/** Sets the function that answers calls from the host: `(kind, header, payload) => text | Promise<text>`; all of it JSON text. */
export function setHandler(fn) {
  handler = fn;
}

// An answer is one text: `-` for undefined, `+` and JSON for a value, `!` and `{"class","message"}` for a failure.
function open(answer) {
  switch (answer.charCodeAt(0)) {
    case 0x2b:
      return answer.slice(1);
    case 0x21: {
      const failure = JSON.parse(answer.slice(1));
      const error = new Error(failure.message);
      error.name = failure.class;
      throw error;
    }
    default:
      return undefined;
  }
}

// JSON text in JavaScript may hold half of a surrogate pair, escaped; nothing outside accepts it. The first alternative steps over an escaped
// backslash, which may stand before the same letters.
function wellFormed(text) {
  return text?.includes("\\ud") ? text.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => found === "\\\\" ? found : "\\ufffd") : text;
}

/** Calls the host with JSON text and returns its answer, JSON text or undefined. Never waits. */
export function hostCall(method, args) {
  return open(op_pier_host_call(method, wellFormed(args) ?? ""));
}

/** Calls the host; the promise settles with its answer. */
export async function hostCallAsync(method, args) {
  return open(await op_pier_host_call_async(method, wellFormed(args) ?? ""));
}

/** Imports a module the way the main module graph does. */
export function importModule(specifier) {
  return import(specifier);
}

function dispatch(id, kind, header, payload) {
  let result;
  try {
    result = handler(kind, header, payload);
  } catch (error) {
    op_pier_call_failed(id, error);
    return;
  }
  if (result !== null && typeof result === "object") {
    result.then((text) => op_pier_call_done(id, wellFormed(text) ?? null), (error) => op_pier_call_failed(id, error));
  } else {
    op_pier_call_done(id, wellFormed(result) ?? null);
  }
}

// Runs once in each isolate, before any extension code.
function start() {
  startNode(internals.__nodeBootstrapArgs);
  watchUncaught();
  watchExit();
}

// The exit itself happens in native code, which no longer knows who asked for it.
function watchExit() {
  const exit = Deno.exit;
  Deno.exit = function (code) {
    op_pier_exiting(new Error("exit"));
    return exit(code);
  };
  // Ways to end the process that would take the host along.
  const process = globalThis.process;
  process.abort = () => Deno.exit(134);
  const isOwn = (pid) => pid === process.pid || pid === 0 || pid === -process.pid;
  const kill = process.kill;
  process.kill = function (pid, signal) {
    if (isOwn(pid) && signal !== 0) return Deno.exit(143);
    return kill.call(process, pid, signal);
  };
  const denoKill = Deno.kill;
  Deno.kill = function (pid, signal) {
    return isOwn(pid) ? Deno.exit(143) : denoKill(pid, signal);
  };
  Object.defineProperty(globalThis, "Worker", {
    configurable: true,
    writable: true,
    value: class Worker {
      constructor() {
        throw new Error("web workers are not supported in this host");
      }
    },
  });
}

// Errors that nobody caught are reported and end there: they stop neither the isolate nor the host. An extension that
// installed its own `process.on(...)` handler keeps it.
function watchUncaught() {
  globalThis.addEventListener("error", (event) => {
    if (globalThis.process?.listenerCount?.("uncaughtException") > 0) return;
    event.preventDefault();
    op_pier_uncaught("exception", event.error ?? new Error(event.message));
  });
  globalThis.addEventListener("unhandledrejection", (event) => {
    if (globalThis.process?.listenerCount?.("unhandledRejection") > 0) return;
    event.preventDefault();
    op_pier_uncaught("rejection", event.reason);
  });
}

// `require` knows nothing of the module loader, so host modules are put in front of it here.
const loadFromDisk = Module._load;
Module._load = function (request, parent, isMain) {
  const url = op_pier_host_module(request);
  return url === null ? loadFromDisk.call(this, request, parent, isMain) : op_import_sync(url);
};

// The engine takes these two and deletes the property before any extension code runs.
Object.defineProperty(globalThis, "__pierNatives", {
  configurable: true,
  enumerable: false,
  value: { dispatch, start },
});
