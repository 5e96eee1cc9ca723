export default function (pi: any) {
	pi.on("tool_result", async () => undefined);
}
