export default function (pi: any) {
	let calls = 0;
	pi.on("tool_call", async () => {
		calls++;
	});
	pi.on("tool_result", async (event: any) => {
		console.log(`result of ${event.toolName}: ${calls}, error ${event.isError}`);
	});
}
