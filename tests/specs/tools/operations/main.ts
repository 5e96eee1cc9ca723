import { Type } from "typebox";
import { checks } from "./checks.ts";

export default function (pi: any) {
	pi.registerTool({
		name: "check",
		label: "Check",
		description: "Compares the tools",
		parameters: Type.Object({}),
		async execute() {
			for (const [name, check] of checks) {
				try {
					await check();
					console.log(`ok: ${name}`);
				} catch (error) {
					console.log(`FAILED: ${name}: ${(error as Error).stack}`);
				}
			}
			return { content: [{ type: "text", text: "done" }], details: {} };
		},
	});
}
