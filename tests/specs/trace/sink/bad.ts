import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	(pi as any).onLlmTrace(() => {
		throw new Error("no records please");
	});
}
