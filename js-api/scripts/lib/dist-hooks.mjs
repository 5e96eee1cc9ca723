// Node module hooks that resolve the built files' absolute specifiers, so that Node can import what the engine embeds.
// `ext:pier/host.js` becomes a module whose functions fail when called, because evaluation must not call them; a test may put its own into
// `globalThis[Symbol.for("pier.test.host")]`, where the handler that the core installs is found, too.
import { pathToFileURL } from "node:url";

let dist;
let base;

const HOST = `data:text/javascript,${encodeURIComponent(`
const host = (globalThis[Symbol.for("pier.test.host")] ??= {});
const forward = (name) => (...args) => {
	if (host[name] === undefined) throw new Error("ext:pier/host.js " + name + " was called outside of the engine");
	return host[name](...args);
};
export const hostCall = forward("hostCall");
export const hostCallAsync = forward("hostCallAsync");
export const importModule = forward("importModule");
export const setHandler = (handler) => { host.handler = handler; };
`)}`;

export function initialize(data) {
	dist = pathToFileURL(`${data.dist}/`);
	base = data.base;
}

export async function resolve(specifier, context, next) {
	if (specifier === "ext:pier/host.js") return { url: HOST, format: "module", shortCircuit: true };
	const prefix = [base, "node:pier/"].find((candidate) => specifier.startsWith(candidate));
	if (prefix !== undefined) {
		return { url: new URL(specifier.slice(prefix.length), dist).href, format: "module", shortCircuit: true };
	}
	return next(specifier, context);
}

export async function load(url, context, next) {
	return next(url, url.startsWith(dist.href) ? { ...context, format: "module" } : context);
}
