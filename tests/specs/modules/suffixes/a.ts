export default function (pi: any) {
	pi.registerTool({
		name: "a", label: "a", description: "a", parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: "a" }] }),
	});
}
