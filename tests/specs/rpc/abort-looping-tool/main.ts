export default function (pi: any) {
	pi.registerTool({
		name: "spin",
		description: "Loops",
		parameters: { type: "object", properties: {} },
		execute: async (_id: string, _params: any, _signal: any, onUpdate: any) => {
			onUpdate({ content: [{ type: "text", text: "looping" }] });
			for (;;) {}
		},
	});
}
