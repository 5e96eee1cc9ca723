import { setTimeout as sleep } from "node:timers/promises";

export default function (pi: any) {
	pi.on("user_bash", async () => ({
		operations: {
			async exec(command: string, _cwd: string, { onData, signal }: any) {
				if (command === "flood") for (let line = 0; line < 20_000; line++) onData(Buffer.from(`line ${line}\n`));
				if (command === "wait") {
					onData("waiting\n");
					await sleep(60_000, undefined, { signal });
				}
				return { exitCode: command === "flood" ? 0 : null };
			},
		},
	}));
}
