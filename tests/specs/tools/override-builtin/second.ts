export default function (pi: any) {
	pi.registerTool({
		name: "read",
		label: "Read",
		description: "Reads",
		parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
		execute: async (_id: string, { path }: any) => ({ content: [{ type: "text", text: `second read ${path}` }], details: {} }),
	});
}
