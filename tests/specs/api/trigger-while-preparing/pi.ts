import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.on("input", async () => {
		pi.sendMessage({ customType: "note", content: "by the way", display: true }, { triggerTurn: true });
		// The host has every chance to start another run first.
		await new Promise((resolve) => setTimeout(resolve, 100));
	});
}
