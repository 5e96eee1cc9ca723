// A conversation as plain text, for summaries and hand-offs (agent-loop §7.3).

/** UTF-16 units of a tool result that are kept. */
const TOOL_RESULT_LIMIT = 2000;

interface Block {
	type: string;
	text?: string;
	thinking?: string;
	name?: string;
	arguments?: Record<string, unknown>;
}

function textOf(content: unknown): string {
	if (typeof content === "string") return content;
	if (!Array.isArray(content)) return "";
	return content
		.filter((block): block is { type: "text"; text: string } => block?.type === "text")
		.map((block) => block.text)
		.join("");
}

function shorten(text: string): string {
	if (text.length <= TOOL_RESULT_LIMIT) return text;
	return `${text.slice(0, TOOL_RESULT_LIMIT)}\n\n[... ${text.length - TOOL_RESULT_LIMIT} more characters truncated]`;
}

function callText(call: Block): string {
	const args = Object.entries(call.arguments ?? {}).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
	return `${call.name}(${args.join(", ")})`;
}

type Conversation = readonly { role: string; content: unknown }[];

/** Blocks separated by a blank line; thinking is left out, long tool results are cut. */
export function serializeConversation(messages: Conversation): string {
	return serialize(messages, false);
}

/** The same with what the model thought, as oh-my-pi and xcsh have it. */
export function serializeWithThinking(messages: Conversation): string {
	return serialize(messages, true);
}

function serialize(messages: Conversation, withThinking: boolean): string {
	const parts: string[] = [];
	const add = (label: string, text: string) => {
		if (text !== "") parts.push(`[${label}]: ${text}`);
	};
	for (const message of messages) {
		if (message.role === "user") add("User", textOf(message.content));
		else if (message.role === "toolResult") add("Tool result", shorten(textOf(message.content)));
		else if (message.role === "assistant") {
			const content: Block[] = Array.isArray(message.content) ? message.content : [];
			const thinking = content.filter((block) => block.type === "thinking").map((block) => block.thinking);
			const text = content.filter((block) => block.type === "text").map((block) => block.text);
			const calls = content.filter((block) => block.type === "toolCall").map(callText);
			if (withThinking) add("Assistant thinking", thinking.join("\n"));
			add("Assistant", text.join("\n"));
			add("Assistant tool calls", calls.join("; "));
		}
	}
	return parts.join("\n\n");
}
