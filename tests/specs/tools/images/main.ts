import { readFileSync } from "node:fs";

function size(data: string): string {
	const png = Buffer.from(data, "base64");
	return `${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`;
}

export default function (pi: any) {
	pi.registerTool({
		name: "shot",
		label: "Shot",
		description: "Takes a picture",
		parameters: { type: "object", properties: {} },
		execute: async () => ({
			content: [
				{ type: "text", text: "took it" },
				{ type: "image", data: readFileSync("wide.bmp").toString("base64"), mimeType: "image/bmp" },
			],
			details: {},
		}),
	});
	pi.on("tool_execution_end", ({ toolName, result }: any) => {
		const image = result.content.find((block: any) => block.type === "image");
		const text = result.content.filter((block: any) => block.type === "text").map((block: any) => block.text);
		const shown = JSON.stringify(text.join("\n")).slice(1, -1);
		console.log(`${toolName}: ${image?.mimeType} ${image && size(image.data)} | ${shown}`);
	});
}
