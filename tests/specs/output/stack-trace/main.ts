import { deep } from "./deep.ts";

interface OnlyATypeSoThatLinesMove {
	a: number;
}

export default function (pi: any) {
	pi.registerTool({
		name: "where", label: "Where", description: "Says where", parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: where() }] }),
	});
}

function where(): string {
	try {
		deep({ a: 1 } as OnlyATypeSoThatLinesMove);
	} catch (error) {
		const lines = String((error as Error).stack).split("\n");
		const place = (name: string) => /([a-z]+\.ts:\d+)/.exec(lines.find((line) => line.includes(name)) ?? "")?.[1];
		return `${place("deep.ts")} ${place("main.ts")}`;
	}
	return "no error";
}
