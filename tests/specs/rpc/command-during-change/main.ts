import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { appendFileSync, readFileSync } from "node:fs";

export default function (pi: ExtensionAPI) {
	pi.on("session_start", () => appendFileSync("starts", "x"));
	pi.on("session_shutdown", () => new Promise((resolve) => setTimeout(resolve, 200)));
	pi.registerCommand("mark", {
		description: "Says when it runs",
		handler: async (args: string, ctx: any) => ctx.ui.notify(`${args} after start ${readFileSync("starts", "utf8").length}`),
	});
	pi.registerCommand("again", {
		description: "Reloads",
		handler: async (_args: string, ctx: any) => {
			ctx.ui.notify("reloading");
			await ctx.reload();
		},
	});
}
