import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerCommand("ask", { handler: async () => pi.sendUserMessage("from the command") });
	pi.registerCommand("tell", {
		handler: async () => {
			pi.sendMessage({ customType: "note", content: "from the command", display: true }, { triggerTurn: true });
		},
	});
}
