module.exports = function (pi: any) {
	pi.registerTool({
		name: "c", label: "c", description: "c", parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: "c" }] }),
	});
};
