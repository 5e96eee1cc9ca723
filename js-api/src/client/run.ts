// Waits for what one prompt sets off: from its admission to the moment at which nothing more happens by itself.

import type { AgentMessage, AssistantMessage } from "../../types/messages.js";
import type { Disposition } from "./commands.js";
import { type PierClosedError, PierRunError } from "./errors.js";
import type { EventHub } from "./hub.js";
import { Wait, type WaitOptions } from "./wait.js";

export interface RunResult {
	/** What became of the prompt itself. */
	disposition: Disposition;
	/** Text of the last answer; empty when there was none. */
	text: string;
	/** Everything that was said meanwhile, in order: the prompt, answers, results of tools. */
	messages: AgentMessage[];
	/** The run was aborted; the last answer may be half. */
	aborted: boolean;
}

export class RunWatch {
	readonly #messages: AgentMessage[] = [];
	#disposition: Disposition | undefined;
	#aborted = false;
	readonly #end: Wait<void>;

	constructor(hub: EventHub, closed: PierClosedError | undefined, bounds: WaitOptions) {
		const stops = [
			hub.on("message_end", ({ message }) => this.#messages.push(message)),
			hub.on("agent_settled", ({ aborted }) => {
				this.#aborted = aborted;
				// Before the prompt was admitted it is the end of something else.
				if (this.#disposition !== undefined) this.#end.resolve();
			}),
			hub.on("closed", (error) => this.#end.reject(error)),
		];
		this.#end = new Wait("The end of the run", bounds, () => {
			for (const stop of stops) stop();
		});
		if (closed !== undefined) this.#end.reject(closed);
	}

	/** The response came. Must be called before a later record is looked at. */
	admitted(disposition: Disposition): void {
		this.#disposition = disposition;
		if (disposition !== "started") return;
		this.#messages.length = 0;
		this.#aborted = false;
	}

	/** No run is active, nor will one be. */
	idle(): void {
		this.#end.resolve();
	}

	fail(error: unknown): void {
		this.#end.reject(error);
	}

	/** Rejects with what ended the wait, or with the failure of the last answer. */
	async result(): Promise<RunResult> {
		await this.#end.promise;
		const answer = this.#messages.findLast((message): message is AssistantMessage => message.role === "assistant");
		if (answer?.stopReason === "error") throw new PierRunError(answer);
		return {
			disposition: this.#disposition ?? "handled",
			text: answer === undefined ? "" : textOf(answer),
			messages: this.#messages,
			aborted: this.#aborted,
		};
	}
}

/** The text of an answer, without its thoughts and tool calls. */
export function textOf(message: AssistantMessage): string {
	return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
