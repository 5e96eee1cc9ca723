// The process behind purity.mjs: reads the job from standard input, writes the report to standard output.
import { readFileSync } from "node:fs";
import { register } from "node:module";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";

const { dist, base, files } = JSON.parse(readFileSync(0, "utf8"));
register("./dist-hooks.mjs", import.meta.url, { data: { dist, base } });
const root = pathToFileURL(`${dist}/`).href;
const effects = {};
let watching = false;
Error.stackTraceLimit = 100;

function note(effect) {
	if (!watching) return;
	watching = false;
	const stack = new Error().stack ?? "";
	watching = true;
	// The outermost frame in a built file is the module that is being evaluated; a helper that it calls in another file is not to blame.
	const culprit = stack.split("\n").findLast((line) => line.includes(root));
	if (culprit === undefined) return;
	const file = culprit.slice(culprit.indexOf(root) + root.length).replace(/:\d+:\d+\)?$/, "");
	effects[file] ??= [];
	if (!effects[file].includes(effect)) effects[file].push(effect);
}

function trap(object, name, label) {
	const original = object[name];
	if (typeof original !== "function") return;
	object[name] = new Proxy(original, {
		apply(target, self, args) {
			note(label);
			return Reflect.apply(target, self, args);
		},
		construct(target, args, newTarget) {
			note(label);
			return Reflect.construct(target, args, newTarget === object[name] ? target : newTarget);
		},
	});
}

const env = process.env;
process.env = new Proxy(env, {
	get(target, key) {
		note(`process.env.${String(key)}`);
		return Reflect.get(target, key);
	},
	has(target, key) {
		note(`process.env.${String(key)}`);
		return Reflect.has(target, key);
	},
	ownKeys(target) {
		note("process.env");
		return Reflect.ownKeys(target);
	},
});
for (const name of ["cwd", "on", "once", "addListener", "nextTick", "hrtime", "getuid", "exit", "emitWarning"])
	trap(process, name, `process.${name}`);
for (const name of [
	"setTimeout",
	"setInterval",
	"setImmediate",
	"fetch",
	"queueMicrotask",
	"AbortController",
	"WebSocket",
]) {
	trap(globalThis, name, name);
}
// A V8 snapshot cannot hold ICU objects, nor registered finalizers.
for (const name of [
	"Segmenter",
	"Collator",
	"NumberFormat",
	"DateTimeFormat",
	"PluralRules",
	"ListFormat",
	"RelativeTimeFormat",
	"DisplayNames",
]) {
	trap(Intl, name, `new Intl.${name}`);
}
trap(FinalizationRegistry.prototype, "register", "FinalizationRegistry.register");
for (const name of ["WebAssembly", "Worker", "MessageChannel", "BroadcastChannel"]) trap(globalThis, name, name);
for (const name of ["compile", "instantiate", "Module", "Instance", "Memory"])
	trap(WebAssembly, name, `WebAssembly.${name}`);
trap(Date, "now", "Date.now");
trap(Math, "random", "Math.random");
trap(globalThis.crypto, "getRandomValues", "crypto.getRandomValues");
trap(globalThis.crypto, "randomUUID", "crypto.randomUUID");
const platform = Object.getOwnPropertyDescriptor(process, "platform");
for (const name of ["platform", "arch", "versions", "argv", "stdout", "stdin", "stderr", "execPath"]) {
	const value = name === "platform" ? platform.value : undefined;
	const descriptor = Object.getOwnPropertyDescriptor(process, name);
	const read = descriptor.get === undefined ? () => value ?? descriptor.value : () => descriptor.get.call(process);
	Object.defineProperty(process, name, {
		configurable: true,
		get() {
			note(`process.${name}`);
			return read();
		},
		set() {},
	});
}

const report = { exports: {}, errors: {}, effects, times: {} };
for (const file of files) {
	const start = performance.now();
	watching = true;
	try {
		const namespace = await import(`${base}${file}`);
		watching = false;
		report.exports[file] = Object.keys(namespace).sort();
	} catch (error) {
		watching = false;
		report.errors[file] = String(error?.stack ?? error);
	}
	report.times[file] = performance.now() - start;
}
// A marker separates the report from anything a module printed.
process.stdout.write(`\u0001${JSON.stringify(report)}`, () => process.exit(0));
