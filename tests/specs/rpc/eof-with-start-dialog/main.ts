import { writeFileSync } from "node:fs";

export default function (pi: any) {
	pi.on("session_start", async (_event: any, ctx: any) => {
		writeFileSync("answer", String(await ctx.ui.confirm("Sure?", "Nobody can say")));
	});
}
