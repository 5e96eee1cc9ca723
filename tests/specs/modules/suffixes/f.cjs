module.exports = function (pi) {
	pi.registerTool({
		name: "f", label: "f", description: "f", parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: "f" }] }),
	});
};
