import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerCommand("leave", {
		description: "Ends the process",
		handler: async () => {
			process.exit(3);
		},
	});
}
