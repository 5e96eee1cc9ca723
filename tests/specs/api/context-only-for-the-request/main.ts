export default function (pi: any) {
	pi.on("context", async (event: any) => ({
		messages: event.messages.map((message: any) =>
			message.role === "user" ? { ...message, content: [{ type: "text", text: "hidden" }] } : message,
		),
	}));
}
