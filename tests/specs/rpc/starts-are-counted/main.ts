import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { appendFileSync } from "node:fs";

export default function (pi: ExtensionAPI) {
	pi.on("session_start", (event: any, ctx: any) => {
		appendFileSync("log", `+${event.reason}\n`);
		ctx.ui.notify(`start ${event.reason}`);
	});
	pi.on("session_shutdown", (event: any) => appendFileSync("log", `-${event.reason}\n`));
	pi.registerCommand("again", { description: "Reloads", handler: async (_args: string, ctx: any) => ctx.reload() });
}
