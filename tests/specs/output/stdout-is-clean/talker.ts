import { writeSync } from "node:fs";

console.log("at load");

export default function (pi: any) {
	pi.on("session_start", () => {
		console.log("from console.log");
		console.error("from console.error");
		process.stdout.write("from process.stdout\n");
		console.info("one\ntwo");
		console.table([{ a: 1 }]);
		writeSync(1, "from fd 1\n");
	});
}
