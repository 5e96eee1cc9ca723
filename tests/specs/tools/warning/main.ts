import type {} from "@f5-sales-demo/xcsh";

export default function (pi: any) {
	pi.registerTool({
		name: "check",
		label: "Check",
		description: "Checks",
		parameters: { type: "object", properties: { change: { type: "boolean" } } },
		execute: async () => ({ content: [{ type: "text", text: "almost" }], isWarning: true }),
	});
	pi.on("tool_result", (event: any) => (event.input.change ? { details: { changed: true } } : undefined));
}
