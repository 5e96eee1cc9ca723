export default function (pi: any) {
	pi.on("tool_call", (event: any) => (event.toolName === "bash" ? { block: true, reason: "no bash here" } : undefined));
}
