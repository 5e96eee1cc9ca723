import fs, { appendFile, appendFileSync, writeFile, writeFileSync } from "node:fs";
import * as promises from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";

const required = createRequire(import.meta.url)("fs");
const modeOf = (path: string) => fs.statSync(path).mode & 0o777;
const octal = (mode: number | string) => (typeof mode === "number" ? mode.toString(8) : mode);

const WAYS: Record<string, (path: string, options?: any) => unknown> = {
	writeFileSync: (path, options) => writeFileSync(path, "x", options),
	appendFileSync: (path, options) => appendFileSync(path, "x", options),
	writeFile: (path, options) => promisify(writeFile)(path, "x", options ?? {}),
	appendFile: (path, options) => promisify(appendFile)(path, "x", options ?? {}),
	"default writeFileSync": (path, options) => fs.writeFileSync(path, "x", options),
	"default appendFileSync": (path, options) => fs.appendFileSync(path, "x", options),
	"required appendFileSync": (path, options) => required.appendFileSync(path, "x", options),
	"required appendFile": (path, options) =>
		new Promise<void>((resolve, reject) =>
			required.appendFile(path, "x", options ?? {}, (error: Error | null) => (error ? reject(error) : resolve())),
		),
	"promises.writeFile": (path, options) => promises.writeFile(path, "x", options),
	"promises.appendFile": (path, options) => fs.promises.appendFile(path, "x", options),
	createWriteStream: (path, options) =>
		new Promise((resolve, reject) => fs.createWriteStream(path, options).on("error", reject).end("x", resolve)),
	openSync: (path, options) => fs.closeSync(fs.openSync(path, "a", options?.mode)),
};
/** Given mode, and the one of a new file before the umask. */
const MODES: [number | string | undefined, number][] = [
	[undefined, 0o666],
	[0o600, 0o600],
	[0o666, 0o666],
	["777", 0o777],
];

export default function (pi: any) {
	pi.registerCommand("modes", {
		handler: async (_args: string, ctx: any) => {
			let checked = 0;
			let wrong = 0;
			const check = (what: string, found: unknown, expected: unknown) => {
				checked++;
				if (found === expected) return;
				wrong++;
				console.log(`WRONG ${what}: ${found}, expected ${expected}`);
			};
			const umask = process.umask();
			let files = 0;
			for (const [name, way] of Object.entries(WAYS)) {
				for (const [mode, created] of MODES) {
					for (const existing of [undefined, 0o600, 0o640]) {
						const path = join(ctx.cwd, `file${files++}`);
						if (existing !== undefined) {
							fs.closeSync(fs.openSync(path, "w"));
							fs.chmodSync(path, existing);
						}
						await way(path, mode === undefined ? undefined : { mode });
						const expected = existing ?? created & ~umask;
						check(`${name} ${octal(mode ?? "none")} ${octal(existing ?? "new")}`, octal(modeOf(path)), octal(expected));
					}
				}
			}
			// What is refused, or was aborted before it began, leaves the file as it is.
			const kept = join(ctx.cwd, "kept");
			writeFileSync(kept, "kept", { mode: 0o600 });
			for (const call of [
				() => writeFileSync(kept, 5 as any, { mode: 0o644 }),
				() => writeFileSync(kept, "x", { mode: "zz" as any }),
				() => promisify(writeFile)(kept, "x", { mode: 0o644, signal: AbortSignal.abort() }),
			]) {
				let refused = false;
				try {
					await call();
				} catch {
					refused = true;
				}
				check("refused", `${refused} ${fs.readFileSync(kept, "utf8")}`, "true kept");
			}
			check("one function", appendFileSync === fs.appendFileSync && required === fs, true);
			console.log(`checked ${checked}, wrong ${wrong}`);
		},
	});
}
