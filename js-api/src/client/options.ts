// What a client and its methods can be told. Types only.

import type { CommandName, Fields, Input } from "./commands.js";
import type { PierEvent } from "./events.js";
import type { ProcessOptions } from "./process.js";
import type { UiHandlers } from "./ui.js";
import type { WaitOptions } from "./wait.js";

/** Size of the screen in characters. */
export interface Screen {
	columns: number;
	rows: number;
}

export interface ClientOptions {
	/** The user interface. Given here, it also answers what extensions ask while they start. */
	ui?: UiHandlers;
	/** Where components are drawn; 80 by 24 when absent. */
	screen?: Screen;
	/** Gets every event, from the first one on. */
	onEvent?: (event: PierEvent) => void;
	/**
	 * Milliseconds that a command may take whose caller says nothing else, 60 000 when absent, 0 for no limit. Not for those that take
	 * as long as their work (`TAKE_THEIR_TIME` in commands.ts).
	 */
	timeout?: number;
}

export interface StartOptions extends ProcessOptions, ClientOptions {
	/** Milliseconds until Pier must have said its first word, 30 000 when absent. */
	startTimeout?: number;
	/** Gives the start up. */
	signal?: AbortSignal;
}

/** Fields of a command, which may be left out when it has none that must be there. */
export type Arguments<Name extends CommandName> =
	Record<string, never> extends Fields<Name>
		? [fields?: Fields<Name>, bounds?: WaitOptions]
		: [fields: Fields<Name>, bounds?: WaitOptions];

export type PromptOptions = Omit<Fields<"prompt">, "message"> & WaitOptions;
export type InputOptions = Omit<Input, "message"> & WaitOptions;
