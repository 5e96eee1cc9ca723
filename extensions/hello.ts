import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
	pi.registerTool({
		name: "greet", label: "Greet", description: "Greets somebody by name",
		parameters: Type.Object({ name: Type.String() }),
		execute: async (_id, { name }) => ({ content: [{ type: "text", text: `Hello, ${name}!` }], details: {} }),
	});
	pi.registerCommand("hello", { description: "Says hello", handler: async (args, ctx) => ctx.ui.notify(`Hello, ${args || "world"}!`) });
}
