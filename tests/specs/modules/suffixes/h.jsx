export default function (pi) {
	pi.registerTool({
		name: "h", label: "h", description: "h", parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: "h" }] }),
	});
}
