import { writeFileSync } from "node:fs";

export default function (pi: any) {
	pi.on("session_shutdown", async () => {
		await new Promise((resolve) => setTimeout(resolve, 500));
		writeFileSync("ended", "yes");
	});
	pi.on("session_start", async (_event: any, ctx: any) => ctx.ui.notify("ready"));
}
