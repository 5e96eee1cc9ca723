import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.on("input", (event) => ({ action: "transform", text: event.text.replace("go", "go and more") }));
	pi.on("before_agent_start", () => ({ message: { customType: "good", content: "kept", display: true } }));
	pi.on("context", ({ messages }) => {
		for (const message of messages) {
			if (message.role === "toolResult") message.content = [{ type: "text", text: "best" }];
		}
		return { messages };
	});
	pi.on("tool_result", () => ({ content: [{ type: "text", text: "better" }] }));
	pi.on("message_end", ({ message }) => {
		const text = message.role === "assistant" && message.content[0]?.type === "text" && message.content[0].text;
		if (text) return { message: { ...message, content: [{ type: "text", text: `replaced ${text}` }] } };
	});
}
