export default function (pi: any) {
	pi.on("tool_call", (event: any) => {
		console.log(`guard: ${event.toolName} parent=${event.parentToolCallId !== undefined}`);
		if (event.input.command?.includes("secret")) return { block: true, reason: "not this one" };
	});
}
