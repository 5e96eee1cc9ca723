import { Type } from "typebox";

export default function (pi: any) {
	pi.registerTool({
		name: "add",
		label: "Add",
		description: "Adds",
		parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
		// Older sessions know other names.
		prepareArguments: (raw: any) => ("left" in raw ? { a: raw.left, b: raw.right } : raw),
		execute: async (_id: string, { a, b }: any) => ({ content: [{ type: "text", text: `${a}+${b}=${a + b}` }], details: {} }),
	});
}
