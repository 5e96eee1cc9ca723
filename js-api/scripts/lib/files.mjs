// File listing shared by the scripts.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
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

/** Makes `to` a copy of `from`. Files that are the same already keep their times; files that `from` lacks are removed. */
export function mirror(from, to) {
	const wanted = new Set(findFiles(from, "").filter((file) => statSync(file).isFile()));
	for (const file of wanted) {
		const target = path.join(to, path.relative(from, file));
		const content = readFileSync(file);
		if (existsSync(target) && readFileSync(target).equals(content)) continue;
		mkdirSync(path.dirname(target), { recursive: true });
		writeFileSync(target, content);
	}
	for (const file of findFiles(to, "")) {
		if (statSync(file).isFile() && !wanted.has(path.join(from, path.relative(to, file)))) rmSync(file);
	}
}
