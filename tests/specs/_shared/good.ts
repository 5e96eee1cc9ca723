// The extension that must go on working whatever its neighbour does.
import { Type } from "typebox";

export default function (pi: any) {
	pi.registerTool({
		name: "good",
		label: "Good",
		description: "Answers",
		parameters: Type.Object({}),
		async execute() {
			return { content: [{ type: "text", text: "good works" }], details: {} };
		},
	});
}
