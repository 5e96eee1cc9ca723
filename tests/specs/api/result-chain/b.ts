export default function (pi: any) {
	pi.on("tool_result", async (event: any) => ({ content: [{ type: "text", text: `B(${event.content[0].text})` }] }));
}
