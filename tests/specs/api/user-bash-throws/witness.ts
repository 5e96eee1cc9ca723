import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.on("user_bash", (event, ctx) => ctx.ui.notify(`asked about ${event.command}`));
}
