import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";

export default function (pi: any) {
	pi.on("session_start", async () => {
		setInterval(() => {}, 60_000);
		const child = spawn("sleep", ["600"]);
		writeFileSync("child.pid", String(child.pid));
		await new Promise<void>((resolve) => createServer().listen(0, "127.0.0.1", () => resolve()));
	});
	pi.on("session_shutdown", async (event: any) => {
		writeFileSync("shutdown.txt", event.reason);
	});
}
