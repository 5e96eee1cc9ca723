export default function (pi: any) {
	pi.registerTool({
		name: "breaks", label: "Breaks", description: "Throws", parameters: { type: "object", properties: {} },
		execute: async () => {
			throw new Error("the disk is on fire");
		},
	});
}
