// Runs one of our tools and the real package's on the same in-memory files, and compares what comes out.

import assert from "node:assert/strict";

// Two implementations' results, compared as data.
export type Any = any;

/** A function of the real package, which is compiled like any other code here. */
export async function real(file: string, name: string): Promise<Any> {
	return (await import(`${process.env.REAL_TOOLS}/${file}.js`))[name];
}

export interface Outcome {
	result?: Any;
	error?: string;
	/** Files after the run. */
	files: Record<string, string>;
	updates: number;
}

/** Files by absolute path, behind every kind of operations. */
export function memoryOperations(files: Record<string, string>): Any {
	const missing = (path: string) =>
		Object.assign(new Error(`ENOENT: no such file, open '${path}'`), { code: "ENOENT" });
	const directories = () =>
		new Set(
			Object.keys(files).flatMap((path) =>
				path
					.split("/")
					.slice(0, -1)
					.map((_, i, parts) => parts.slice(0, i + 1).join("/") || "/"),
			),
		);
	const exists = (path: string) => path in files || directories().has(path);
	return {
		access: async (path: string) => {
			if (!(path in files)) throw missing(path);
		},
		readFile: async (path: string) => {
			const text = files[path];
			if (text === undefined) throw missing(path);
			return Buffer.from(text, "utf8");
		},
		writeFile: async (path: string, text: string) => {
			files[path] = text;
		},
		mkdir: async () => {},
		exists,
		stat: (path: string) => {
			if (!exists(path)) throw missing(path);
			return { isDirectory: () => directories().has(path) };
		},
		readdir: (path: string) => {
			const prefix = path === "/" ? "/" : `${path}/`;
			const names = [...Object.keys(files), ...directories()].filter(
				(name) => name.startsWith(prefix) && name !== path,
			);
			return [...new Set(names.map((name) => name.slice(prefix.length).split("/")[0] ?? ""))];
		},
	};
}

export async function run(
	make: (cwd: string, options: Any) => Any,
	files: Record<string, string>,
	params: Any,
	more: Any = {},
): Promise<Outcome> {
	const own = { ...files };
	let updates = 0;
	try {
		const tool = make("/project", { operations: { ...memoryOperations(own), ...more } });
		const result = await tool.execute("call", params, undefined, () => updates++);
		return { result: JSON.parse(JSON.stringify(result)), files: own, updates };
	} catch (error) {
		return { error: (error as Error).message, files: own, updates };
	}
}

/** What two implementations may word differently: the part of an error after its first sentence. */
function comparable(outcome: Outcome, wholeErrors: boolean): Omit<Outcome, "updates"> {
	const { result, error, files } = outcome;
	if (error === undefined) return { result, files };
	return { error: wholeErrors ? error : (/^.*?\.(?= |$)/s.exec(error)?.[0] ?? error), files };
}

export async function same(
	ours: (cwd: string, options: Any) => Any,
	real: (cwd: string, options: Any) => Any,
	files: Record<string, string>,
	params: Any,
	{ more = {}, wholeErrors = false }: { more?: Any; wholeErrors?: boolean } = {},
): Promise<Outcome> {
	const mine = await run(ours, files, params, more);
	const theirs = await run(real, files, params, more);
	assert.deepEqual(
		comparable(mine, wholeErrors),
		comparable(theirs, wholeErrors),
		JSON.stringify({ params, files }).slice(0, 600),
	);
	return mine;
}
