export default function (pi: any) {
	pi.registerTool({
		name: "g", label: "g", description: "g", parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: "g" }] }),
	});
}
