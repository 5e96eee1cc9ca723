import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.on("user_bash", (event): any => {
		if (event.command === "echo unreadable") return { result: { output: 5 } };
		throw new Error("cannot decide");
	});
}
