import type { ExtensionAPI } from "@f5-sales-demo/xcsh";
import { given, logger } from "./log.ts";

const log = logger("xcsh.log");

export default function (pi: ExtensionAPI & { on: any }) {
	let refusing = false;
	pi.on("session_start", async () => log("session_start"));
	pi.on("session_switch", async (event: any) => log("session_switch", event.reason, given("previous", event.previousSessionFile)));
	pi.on("session_branch", async (event: any) => log("session_branch", given("previous", event.previousSessionFile)));
	pi.on("session_before_switch", async (event: any) => {
		log("before_switch", event.reason, given("target", event.targetSessionFile));
		return { cancel: refusing };
	});
	pi.on("session_before_branch", async () => log("before_branch"));
	pi.on("session_before_tree", async () => log("before_tree"));
	pi.on("session_tree", async () => log("session_tree"));
	pi.registerCommand("refuse", {
		handler: async () => {
			refusing = true;
		},
	});
	pi.on("session_shutdown", async () => log("session_shutdown"));
}
