// The JavaScript side of the engine's native functions (`src/ops.rs`): calls from the host, calls to the host, and what
// nothing caught. Part of the snapshot; it must touch no global at import and know nothing of agents.
import {
  op_pier_call_done,
  op_pier_call_failed,
  op_pier_host_call,
  op_pier_host_call_async,
  op_pier_uncaught,
} from "ext:core/ops";

let handler = () => {
  throw new Error("this isolate has no handler for host calls");
};

let makeError = (name, message) => {
  const error = new Error(message);
  error.name = name;
  return error;
};

/** Sets the function that answers calls from the host: `(kind, header, payload) => value | Promise<value>`. */
export function setHandler(fn) {
  handler = fn;
}

/** Sets how a failed host call becomes an error: `(className, message) => Error`. */
export function setErrorFactory(fn) {
  makeError = fn;
}

// An answer is one text: `-` for undefined, `+` and JSON for a value, `!` and `{"class","message"}` for a failure.
function open(answer) {
  switch (answer.charCodeAt(0)) {
    case 0x2b:
      return JSON.parse(answer.slice(1));
    case 0x21: {
      const failure = JSON.parse(answer.slice(1));
      throw makeError(failure.class, failure.message);
    }
    default:
      return undefined;
  }
}

function text(args) {
  return args === undefined ? "" : JSON.stringify(args);
}

/** Calls the host and returns its answer. Never waits. */
export function hostCall(method, args) {
  return open(op_pier_host_call(method, text(args)));
}

/** Calls the host; the promise settles with its answer. */
export async function hostCallAsync(method, args) {
  return open(await op_pier_host_call_async(method, text(args)));
}

/** Imports a module the way the main module graph does. */
export function importModule(specifier) {
  return import(specifier);
}

function settle(id, value) {
  let json;
  try {
    json = value === undefined ? undefined : JSON.stringify(value);
  } catch (error) {
    op_pier_call_failed(id, error);
    return;
  }
  op_pier_call_done(id, json === undefined ? null : json);
}

function dispatch(id, kind, header, payload) {
  let result;
  try {
    result = handler(kind, JSON.parse(header), payload === undefined ? undefined : JSON.parse(payload));
  } catch (error) {
    op_pier_call_failed(id, error);
    return;
  }
  if (result !== null && typeof result === "object" && typeof result.then === "function") {
    result.then((value) => settle(id, value), (error) => op_pier_call_failed(id, error));
  } else {
    settle(id, result);
  }
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

// The engine takes these two and deletes the property before any extension code runs.
Object.defineProperty(globalThis, "__pierNatives", {
  configurable: true,
  enumerable: false,
  value: { dispatch, watchUncaught },
});
