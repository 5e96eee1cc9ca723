import { writeFileSync } from "node:fs";

export default function (pi: any) {
	pi.registerTool({
		name: "flood",
		description: "Streams 50 MB",
		parameters: { type: "object", properties: {} },
		execute: async (_id: string, _params: any, _signal: any, onUpdate: any) => {
			for (let n = 0; n < 500; n++) {
				onUpdate({ content: [{ type: "text", text: String(n % 10).repeat(100_000) }], details: { n } });
				await new Promise((resolve) => setTimeout(resolve, 0));
			}
			writeFileSync("flooded", "yes");
			return { content: [{ type: "text", text: "500 pieces" }], details: { n: 500 } };
		},
	});
	pi.registerCommand("measure", { description: "Runs beside it", handler: async () => writeFileSync("measured", "yes") });
}
