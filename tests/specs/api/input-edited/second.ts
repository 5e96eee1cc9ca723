export default function (pi: any) {
	pi.on("tool_call", async (event: any) => {
		console.log(`second sees: ${event.input.command}`);
	});
}
