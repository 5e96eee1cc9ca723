export default function (pi: any) {
	pi.on("before_agent_start", async (event: any) => ({
		systemPrompt: `${event.systemPrompt}\nMARK`,
		message: { customType: "one", content: "from one", display: true },
	}));
}
