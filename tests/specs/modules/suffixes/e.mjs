export default function (pi) {
	pi.registerTool({
		name: "e", label: "e", description: "e", parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: "e" }] }),
	});
}
