import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI & { [name: string]: any }) {
	pi.registerTool({
		name: "nothing",
		label: "Nothing",
		description: "Returns nothing",
		parameters: { type: "object", properties: {} },
		async execute() {
			pi.sendMessage({ customType: "sent", content: null, display: false }, { triggerTurn: false });
			return { content: null };
		},
	} as any);
	pi.on("before_agent_start", async () => ({ message: { customType: "returned", content: null, display: false } }) as any);
}
