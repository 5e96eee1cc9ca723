import { writeFileSync } from "node:fs";

export default function (pi: any) {
	pi.on("session_shutdown", async (event: any) => writeFileSync("ended", event.reason));
}
