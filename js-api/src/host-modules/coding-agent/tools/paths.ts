// Paths as models write them: relative, with `~`, with a leading `@`, with Unicode spaces.

import { isAbsolute, resolve } from "node:path";
import { expandHome } from "../../host-info.ts";

const UNICODE_SPACES = /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g;

/** Absolute form of a model's path. */
export function resolveToolPath(path: string, cwd: string): string {
	const cleaned = path.replace(UNICODE_SPACES, " ").replace(/^@/, "");
	const expanded = expandHome(cleaned);
	return isAbsolute(expanded) ? expanded : resolve(cwd, expanded);
}

/** Spellings under which a file may exist on disk although a model wrote the path in plain characters (screenshots on macOS, mostly). */
export function readPathVariants(path: string): string[] {
	const narrow = path.replace(/ (AM|PM)\./gi, "\u202F$1.");
	const decomposed = path.normalize("NFD");
	const curly = path.replaceAll("'", "\u2019");
	return [...new Set([path, narrow, decomposed, curly, decomposed.replaceAll("'", "\u2019")])];
}
