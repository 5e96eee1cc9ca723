// File listing shared by the scripts.
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";

/** All files below `directory` whose name ends in `suffix`, as absolute paths in a stable order. */
export function findFiles(directory, suffix) {
	if (!existsSync(directory)) return [];
	return readdirSync(directory, { recursive: true })
		.map(String)
		.filter((name) => name.endsWith(suffix))
		.map((name) => path.join(directory, name))
		.sort();
}
