import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.on("turn_start", () => pi.sendUserMessage("lost"));
	pi.on("before_agent_start", () => ({ message: { customType: "pi-start", content: "c", display: true } }));
	pi.registerCommand("say", {
		handler: async () => {
			pi.sendMessage({ customType: "pi", content: "c", display: true });
			pi.sendMessage({ customType: "pi-own", content: "c", display: true, attribution: "user" } as never);
		},
	});
}
