// One writer at a time for each file. Shared by the tools of this isolate; the host's own tools queue on the host's side.

import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

const tails = new Map<string, Promise<unknown>>();

/** The path behind links. A file that does not exist yet is named by the real path of the nearest directory that does. */
async function realPathOf(path: string): Promise<string> {
	const absolute = resolve(path);
	try {
		return await realpath(absolute);
	} catch {
		const parent = dirname(absolute);
		return parent === absolute ? absolute : join(await realPathOf(parent), basename(absolute));
	}
}

// Arrival order must survive the asynchronous look-up of the real path.
let lookups: Promise<unknown> = Promise.resolve();

/** Runs `fn` after every earlier call for the same file has settled; calls for other files run at once. */
export async function withFileMutationQueue<T>(path: string, fn: () => Promise<T>): Promise<T> {
	const slot = lookups.then(async () => {
		const key = await realPathOf(path);
		const previous = tails.get(key) ?? Promise.resolve();
		const run = previous.then(fn);
		const settled = run.then(
			() => undefined,
			() => undefined,
		);
		tails.set(key, settled);
		void settled.then(() => {
			if (tails.get(key) === settled) tails.delete(key);
		});
		// Wrapped, so that waiting for the slot does not wait for the run.
		return { run };
	});
	lookups = slot.catch(() => undefined);
	return (await slot).run;
}
