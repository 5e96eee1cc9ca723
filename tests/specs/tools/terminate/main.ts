export default function (pi: any) {
	pi.registerTool({
		name: "finish",
		label: "Finish",
		description: "Gives the final answer",
		parameters: { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] },
		execute: async (_id: string, { answer }: any) => ({ content: [{ type: "text", text: answer }], details: {}, terminate: true }),
	});
}
