import { execFileSync } from "node:child_process";
import { writeSync } from "node:fs";

export default function (pi: any) {
	pi.registerCommand("shout", {
		description: "Prints a lot, in every way",
		handler: async () => {
			for (let n = 0; n < 20000; n++) console.log(`line ${n} ${"x".repeat(50)}`);
			writeSync(1, "raw bytes from the extension\n");
			process.stdout.write("half a line");
			execFileSync("echo", ["from a child"], { stdio: "inherit" });
			process.stdout.write(" and its end\n");
		},
	});
}
