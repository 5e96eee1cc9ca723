// Messages of the transcript as components, for extensions that embed them in views of their own.

import { Box, type Component, Container, type MarkdownTheme, Spacer, Text } from "@earendil-works/pi-tui";
import type { AssistantMessage } from "@earendil-works/pi-ai";
import { currentTheme } from "../../../api/theme.ts";
import { Markdown } from "../../pi-tui/markdown.ts";
import { getMarkdownTheme } from "../component-themes.ts";

/** What the user said, on the user's background. */
export class UserMessageComponent extends Container {
	constructor(text: string, markdownTheme: MarkdownTheme = getMarkdownTheme(), padding = 1) {
		super();
		const style = {
			bgColor: (part: string) => currentTheme().bg("userMessageBg", part),
			color: (part: string) => currentTheme().fg("userMessageText", part),
		};
		this.addChild(new Spacer(1));
		this.addChild(new Markdown(text, padding, 1, markdownTheme, style));
	}
}

/** What the model said and thought. Tool calls are drawn by `ToolExecutionComponent`. */
export class AssistantMessageComponent extends Container {
	private hideThinking: boolean;
	private readonly markdownTheme: MarkdownTheme;
	private message: AssistantMessage | undefined;

	constructor(message?: AssistantMessage, hideThinking = false, markdownTheme: MarkdownTheme = getMarkdownTheme()) {
		super();
		this.hideThinking = hideThinking;
		this.markdownTheme = markdownTheme;
		if (message !== undefined) this.updateContent(message);
	}

	setHideThinkingBlock(hide: boolean): void {
		this.hideThinking = hide;
		if (this.message !== undefined) this.updateContent(this.message);
	}

	/** Redraws from a message, which may still be growing. */
	updateContent(message: AssistantMessage): void {
		this.message = message;
		this.clear();
		const theme = currentTheme();
		for (const block of message.content) {
			if (block.type === "text" && block.text.trim() !== "") {
				this.addChild(new Spacer(1));
				this.addChild(new Markdown(block.text.trim(), 1, 0, this.markdownTheme));
			} else if (block.type === "thinking" && block.thinking.trim() !== "") {
				this.addChild(new Spacer(1));
				this.addChild(
					this.hideThinking
						? new Text(theme.italic(theme.fg("thinkingText", "Thinking...")), 1, 0)
						: new Markdown(block.thinking.trim(), 1, 0, this.markdownTheme, {
								color: (text) => currentTheme().fg("thinkingText", text),
								italic: true,
							}),
				);
			}
		}
		if (message.stopReason === "error" || message.stopReason === "aborted") {
			const reason = message.errorMessage ?? (message.stopReason === "aborted" ? "Operation aborted" : "Unknown error");
			this.addChild(new Spacer(1));
			this.addChild(new Text(theme.fg("error", message.stopReason === "aborted" ? reason : `Error: ${reason}`), 1, 0));
		}
	}
}

interface CustomMessage {
	customType: string;
	content: string | readonly { type: string; text?: string }[];
	details?: unknown;
}

export type CustomMessageRenderer = (
	message: CustomMessage,
	options: { expanded: boolean },
	theme: ReturnType<typeof currentTheme>,
) => Component | undefined;

/** An extension's message: drawn by its renderer, else label and text in a box. */
export class CustomMessageComponent extends Container {
	private readonly message: CustomMessage;
	private readonly renderer: CustomMessageRenderer | undefined;
	private readonly markdownTheme: MarkdownTheme;
	private expanded = false;

	constructor(
		message: CustomMessage,
		renderer?: CustomMessageRenderer,
		markdownTheme: MarkdownTheme = getMarkdownTheme(),
	) {
		super();
		this.message = message;
		this.renderer = renderer;
		this.markdownTheme = markdownTheme;
		this.rebuild();
	}

	setExpanded(expanded: boolean): void {
		if (expanded === this.expanded) return;
		this.expanded = expanded;
		this.rebuild();
	}

	override invalidate(): void {
		super.invalidate();
		this.rebuild();
	}

	private rebuild(): void {
		this.clear();
		this.addChild(new Spacer(1));
		this.addChild(this.rendered() ?? this.fallback());
	}

	private rendered(): Component | undefined {
		try {
			return this.renderer?.(this.message, { expanded: this.expanded }, currentTheme());
		} catch {
			// A broken renderer must not hide the message.
			return undefined;
		}
	}

	private fallback(): Component {
		const box = new Box(1, 1, (text) => currentTheme().bg("customMessageBg", text));
		const { content, customType } = this.message;
		const text = typeof content === "string" ? content : content.map((block) => block.text ?? "").join("\n");
		box.addChild(new Text(currentTheme().bold(currentTheme().fg("customMessageLabel", `[${customType}]`)), 0, 0));
		box.addChild(new Spacer(1));
		box.addChild(
			new Markdown(text, 0, 0, this.markdownTheme, { color: (part) => currentTheme().fg("customMessageText", part) }),
		);
		return box;
	}
}
