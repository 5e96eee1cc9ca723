import { sibling } from "./sibling.ts";
import { dep } from "dep";

export default function (pi: any) {
	pi.registerTool({
		name: "linked", label: "Linked", description: "Linked", parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: `${sibling} ${dep}` }] }),
	});
}
