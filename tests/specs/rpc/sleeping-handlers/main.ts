export default function (pi: any) {
	const events = [
		"turn_start", "turn_end", "message_start", "message_update", "message_end", "tool_call", "tool_result",
		"tool_execution_start", "tool_execution_end", "context", "agent_start", "agent_end",
	];
	for (const name of events) {
		pi.on(name, () => new Promise<void>((resolve) => setTimeout(resolve, Math.random() * 25)));
	}
}
