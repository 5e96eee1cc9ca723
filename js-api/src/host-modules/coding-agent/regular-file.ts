// Reading files that were found or named: only what has an end.

import { readFileSync, statSync } from "node:fs";

/**
 * The text of a file.
 * @throws what the system says, and for a pipe, device or socket: reading one may wait for ever
 */
export function readText(path: string): string {
	const stats = statSync(path);
	if (!stats.isFile() && !stats.isDirectory()) {
		throw new Error(`not a regular file (pipe, device or socket): ${path}`);
	}
	return readFileSync(path, "utf8");
}
