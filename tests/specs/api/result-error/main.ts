export default function (pi: any) {
	const parameters = { type: "object", properties: {} };
	pi.registerTool({
		name: "works", label: "Works", description: "Works", parameters,
		execute: async () => ({ content: [{ type: "text", text: "fine" }] }),
	});
	pi.registerTool({
		name: "breaks", label: "Breaks", description: "Throws", parameters,
		execute: async () => {
			throw new Error("broken");
		},
	});
	pi.on("tool_result", async (event: any) =>
		event.toolName === "works"
			? { isError: true, content: [{ type: "text", text: "declared bad" }] }
			: { isError: false, content: [{ type: "text", text: "declared good" }] },
	);
}
