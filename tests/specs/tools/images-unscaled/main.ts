export default function (pi: any) {
	pi.on("tool_execution_end", ({ toolName, result }: any) => {
		const [text, image] = result.content;
		const png = Buffer.from(image.data, "base64");
		const size = `${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`;
		console.log(`${toolName}: ${image.mimeType} ${size} | ${JSON.stringify(text.text).slice(1, -1)}`);
	});
}
