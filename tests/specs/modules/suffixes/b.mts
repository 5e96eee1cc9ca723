export default function (pi: any) {
	pi.registerTool({
		name: "b", label: "b", description: "b", parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: "b" }] }),
	});
}
