export default function (pi: any) {
	pi.registerTool({
		name: "half",
		label: "Half",
		description: "Registered before the factory failed",
		parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: "must not exist" }] }),
	});
	throw new Error("factory gave up");
}
