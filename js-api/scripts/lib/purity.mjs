// Imports built files in a fresh Node process and reports, per file, what their evaluation touched: environment, clock, randomness, timers,
// network, processes. A file that touched nothing may be evaluated into a V8 snapshot. Also reports export names and import times.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** @returns {Promise<{exports: Record<string, string[]>, errors: Record<string, string>, effects: Record<string, string[]>, times: Record<string, number>}>} */
export function inspect(job) {
	const script = fileURLToPath(new URL("purity-child.mjs", import.meta.url));
	return new Promise((resolve, reject) => {
		const child = spawn(process.execPath, ["--no-warnings", script], {
			stdio: ["pipe", "pipe", "inherit"],
			timeout: 600_000,
		});
		let text = "";
		child.stdout.setEncoding("utf8");
		child.stdout.on("data", (part) => {
			text += part;
		});
		child.on("error", reject);
		child.on("close", (code, signal) => {
			if (code !== 0)
				return reject(new Error(`Inspection of the built modules failed (${signal ?? `exit code ${code}`})`));
			resolve(JSON.parse(text.slice(text.indexOf("\u0001") + 1)));
		});
		child.stdin.end(JSON.stringify(job));
	});
}
