// Functions of `node:fs` that write whole files, with the meaning of `mode` that Node gives it: it is for files that the call creates, and the
// umask applies. Deno's functions set it on every file, existing ones included, and their appending ones have a default that anybody may write to.
// Part of the snapshot; evaluated before anything takes functions out of `node:fs`.
import { core } from "ext:core/mod.js";
import { Buffer } from "node:buffer";

const fs = core.loadExtScript("ext:deno_node/fs.ts");
const { AbortError } = core.loadExtScript("ext:deno_node/internal/errors.ts");
const { open, openSync, close, closeSync } = fs;
// Extensions may replace functions of the module; these stay.
const deno = { appendFile: fs.appendFile, appendFileSync: fs.appendFileSync, writeFile: fs.writeFile, writeFileSync: fs.writeFileSync };

/** Whether `path` names a file, as opposed to an open one: a descriptor or a `FileHandle`. */
const names = (path) => typeof path !== "number" && typeof path?.fd !== "number";

const isWhole = (data) => typeof data === "string" || ArrayBuffer.isView(data);
const isIterable = (data) => typeof data?.[Symbol.iterator] === "function" || typeof data?.[Symbol.asyncIterator] === "function";

/** Whether Deno's functions accept these options. What they refuse must not truncate a file here. */
function areAccepted({ encoding, flush }) {
  return (!encoding || Buffer.isEncoding(encoding)) && (flush === undefined || flush === null || typeof flush === "boolean");
}

/** The mode, and the options without it. */
function takeMode(options) {
  if (typeof options !== "object" || options === null) return { mode: undefined, rest: options };
  const { mode, ...rest } = options;
  return { mode: mode ?? undefined, rest };
}

function writeFileSync(path, data, options) {
  const { mode, rest } = takeMode(options);
  if (mode === undefined || !names(path) || !isWhole(data) || !areAccepted(rest)) return deno.writeFileSync(path, data, rest);
  const fd = openSync(path, rest.flag || "w", mode);
  try {
    deno.writeFileSync(fd, data, rest);
  } finally {
    closeSync(fd);
  }
}

function writeFile(path, data, options, callback) {
  const done = typeof options === "function" ? options : callback;
  const { mode, rest } = takeMode(typeof options === "function" ? undefined : options);
  if (typeof done !== "function" || !names(path)) return deno.writeFile(path, data, rest, done);
  const signal = rest?.signal;
  if (signal?.aborted) {
    queueMicrotask(() => done(new AbortError(undefined, { cause: signal.reason })));
    return;
  }
  if (mode === undefined || !(isWhole(data) || isIterable(data)) || !areAccepted(rest)) return deno.writeFile(path, data, rest, done);
  open(path, rest.flag || "w", mode, (failed, fd) => {
    if (failed) return done(failed);
    deno.writeFile(fd, data, rest, (error) => close(fd, (unclosed) => done(error ?? unclosed ?? null)));
  });
}

/** Options of an append; `undefined` for what Node refuses. */
function appending(options) {
  if (typeof options === "string") return { encoding: options, flag: "a" };
  if (options === undefined || options === null || typeof options === "function") return { flag: "a" };
  return typeof options === "object" ? { ...options, flag: options.flag || "a" } : undefined;
}

function appendFileSync(path, data, options) {
  const all = appending(options);
  return all === undefined ? deno.appendFileSync(path, data, options) : writeFileSync(path, data, all);
}

function appendFile(path, data, options, callback) {
  const done = callback || options;
  const all = appending(options);
  if (all === undefined || typeof done !== "function") return deno.appendFile(path, data, options, callback);
  writeFile(path, data, all, done);
}

Object.assign(fs, { appendFile, appendFileSync, writeFile, writeFileSync });
