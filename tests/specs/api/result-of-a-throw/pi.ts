import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.on("tool_result", (event) => console.log(`pi sees ${event.toolName} ${JSON.stringify(event.details)}`));
}
