import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	const parameters = { type: "object", properties: {} };
	const fail = async () => {
		throw new Error("no luck");
	};
	const work = async () => ({ content: [{ type: "text" as const, text: "fine" }], details: { kept: true } });
	pi.registerTool({ name: "fail", label: "Fail", description: "Fails", parameters, execute: fail });
	pi.registerTool({ name: "work", label: "Work", description: "Works", parameters, execute: work });
}
