export default function (pi) {
	pi.registerTool({
		name: "d", label: "d", description: "d", parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: "d" }] }),
	});
}
