import { existsSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { given, logger } from "./log.ts";

const log = logger("pi.log");
// The module is evaluated anew for every session after the first.
if (existsSync("pi.log")) log("evaluated");

export default function (pi: ExtensionAPI & { on: any }) {
	let runs = 0;
	pi.on("session_start", async (event: any) => log("start", event.reason, given("previous", event.previousSessionFile)));
	pi.on("agent_end", async () => log("run", ++runs));
	pi.on("session_before_switch", async (event: any) => log("before_switch", event.reason, given("target", event.targetSessionFile)));
	pi.on("session_before_fork", async (event: any) => log("before_fork", event.position));
	pi.on("session_before_tree", async () => log("before_tree"));
	pi.on("session_tree", async () => log("tree"));
	pi.on("session_shutdown", async (event: any) => log("shutdown", event.reason));
	pi.registerCommand("back", {
		handler: async (_args: string, ctx: any) => {
			const first = ctx.sessionManager.getBranch().find((entry: any) => entry.message?.role === "user");
			await ctx.navigateTree(first.id);
		},
	});
	pi.registerCommand("again", { handler: async (_args: string, ctx: any) => ctx.reload() });
}
