export default function (pi: any) {
	pi.on("tool_call", async (event: any) => {
		event.input.command = "echo edited";
	});
}
