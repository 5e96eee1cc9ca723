import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	const wrong = (value: unknown): any => value;
	pi.on("input", () => wrong({ action: "transform", text: "lost", images: [{ type: "text", text: "no image" }] }));
	pi.on("before_agent_start", () => wrong({ message: { content: "no type" } }));
	pi.on("context", (event) => wrong({ messages: [...event.messages, 7] }));
	pi.on("tool_result", () => wrong({ content: [1] }));
	pi.on("message_end", ({ message }) => wrong({ message: { role: message.role, content: [5] } }));
}
