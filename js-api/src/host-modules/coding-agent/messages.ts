// From the session's messages to what a model accepts (agent-loop §1.2 to §1.4, sdk-exports §2.5).

import type { ImageContent, Message, TextContent } from "@earendil-works/pi-ai";

type Block = TextContent | ImageContent;
type UserLike = Extract<Message, { role: "user" }>;

/** A session message. Roles that are not known here are left out of the conversation. */
export interface SessionMessage {
	role: string;
	timestamp: number;
	[member: string]: unknown;
}

/** The host sends the same (runtime/agent/src/convert.rs). */
const SUMMARY_INTRODUCTION = {
	compactionSummary: "Earlier parts of this conversation were condensed. This is what they contained:",
	branchSummary: "The user left another line of this conversation and returned here. This is what happened on it:",
} as const;

function user(content: Block[], timestamp: number): UserLike {
	return { role: "user", content, timestamp };
}

function text(value: string): Block[] {
	return [{ type: "text", text: value }];
}

function blocks(content: unknown): Block[] {
	if (typeof content === "string") return text(content);
	return Array.isArray(content) ? (content as Block[]) : [];
}

/** Model text of a shell command that the user ran; see agent-loop §1.4. */
export function bashExecutionToText(message: {
	command: string;
	output: string;
	exitCode?: number | null;
	cancelled?: boolean;
	truncated?: boolean;
	fullOutputPath?: string;
}): string {
	let result = `Ran \`${message.command}\`\n`;
	result += message.output ? `\`\`\`\n${message.output}\n\`\`\`` : "(no output)";
	if (message.cancelled) result += "\n\n(command cancelled)";
	else if (message.exitCode !== undefined && message.exitCode !== null && message.exitCode !== 0) {
		result += `\n\nCommand exited with code ${message.exitCode}`;
	}
	if (message.truncated && message.fullOutputPath)
		result += `\n\n[Output truncated. Full output: ${message.fullOutputPath}]`;
	return result;
}

function pythonExecutionToText(message: SessionMessage): string {
	const code = String(message.code ?? message.command ?? "");
	const output = String(message.output ?? "");
	return `Ran Python:\n\`\`\`python\n${code}\n\`\`\`\n${output ? `Output:\n\`\`\`\n${output}\n\`\`\`` : "(no output)"}`;
}

function fileMentionBlocks(message: SessionMessage): Block[] {
	const files = Array.isArray(message.files)
		? (message.files as { path?: string; content?: string; image?: ImageContent }[])
		: [];
	const texts = files.map((file) => `<file path="${file.path ?? ""}">\n${file.content ?? ""}\n</file>`);
	const images = files.flatMap((file) => (file.image === undefined ? [] : [file.image]));
	return [...text(`<system-reminder>\n${texts.join("\n")}\n</system-reminder>`), ...images];
}

function convert(message: SessionMessage): Message | undefined {
	switch (message.role) {
		case "user":
		case "assistant":
		case "toolResult":
		case "system":
			return message as unknown as Message;
		case "custom":
		case "hookMessage":
		case "developer":
			return user(blocks(message.content), message.timestamp);
		case "bashExecution":
			if (message.excludeFromContext) return undefined;
			return user(
				text(bashExecutionToText(message as unknown as Parameters<typeof bashExecutionToText>[0])),
				message.timestamp,
			);
		case "pythonExecution":
			return message.excludeFromContext ? undefined : user(text(pythonExecutionToText(message)), message.timestamp);
		case "compactionSummary":
			return user(
				text(`${SUMMARY_INTRODUCTION.compactionSummary}\n\n<summary>\n${String(message.summary ?? "")}\n</summary>`),
				message.timestamp,
			);
		case "branchSummary":
			return user(
				text(`${SUMMARY_INTRODUCTION.branchSummary}\n\n<summary>\n${String(message.summary ?? "")}</summary>`),
				message.timestamp,
			);
		case "fileMention":
			return user(fileMentionBlocks(message), message.timestamp);
		default:
			return undefined;
	}
}

/** Messages a model accepts, in order; roles without a model form and excluded executions are dropped. */
export function convertToLlm(messages: readonly { role: string; timestamp: number }[]): Message[] {
	return messages.map((message) => convert(message as SessionMessage)).filter((message) => message !== undefined);
}
