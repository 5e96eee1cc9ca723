// The four dialogs of `ctx.ui` (§8.1). Each promise settles: by the answer, the timeout, the abort signal, or at once when nobody can be
// asked. Cancel, timeout and wrong answers give the method's default value, never an error.

import { hostCall, hostCallAsync } from "../../host.ts";
import { isRecord } from "../json.ts";
import type { DialogAnswer } from "../protocol.ts";
import { whenAborted } from "../when-aborted.ts";
import type { UiEnv } from "./env.ts";

export interface DialogOptions {
	signal?: AbortSignal;
	/** Milliseconds. */
	timeout?: number;
	onTimeout?: () => void;
	initialIndex?: number;
	helpText?: string;
	onLeft?: () => void;
	onRight?: () => void;
	[other: string]: unknown;
}

type Outcome = { kind: "answer"; answer: DialogAnswer } | { kind: "timeout" } | { kind: "signal" };

/** Longest delay that timers take; more means no timeout. */
const MAX_DELAY = 2 ** 31 - 1;

function timeoutOf(env: UiEnv, options: DialogOptions): number | undefined {
	const { timeout } = options;
	if (typeof timeout !== "number" || Number.isNaN(timeout)) return undefined;
	// 0 means none in pi and "at once" in xcsh.
	if (timeout <= 0) return env.record.profile === "pi" ? undefined : 0;
	return timeout > MAX_DELAY ? undefined : Math.ceil(timeout);
}

async function ask(
	env: UiEnv,
	method: string,
	fields: Record<string, unknown>,
	given: DialogOptions | undefined,
): Promise<DialogAnswer> {
	env.guard();
	const options = isRecord(given) ? (given as DialogOptions) : {};
	const { signal } = options;
	if (!env.hasDialogs || signal?.aborted) return { cancelled: true };

	const dialogId = env.runtime.nextId();
	const timeout = timeoutOf(env, options);
	const waits: Promise<Outcome>[] = [];
	let timer: ReturnType<typeof setTimeout> | undefined;
	let stopWaiting = () => {};
	if (signal !== undefined && signal !== null) {
		waits.push(
			new Promise((resolve) => {
				stopWaiting = whenAborted(signal, () => resolve({ kind: "signal" }));
			}),
		);
	}
	// A terminal may queue the dialog behind another; there the host starts the clock when it is on screen.
	if (timeout !== undefined && env.flavor !== "tui") {
		waits.push(
			new Promise((resolve) => {
				timer = setTimeout(() => resolve({ kind: "timeout" }), timeout);
			}),
		);
	}
	const answered: Promise<Outcome> = hostCallAsync("ui.dialog", {
		...env.origin,
		dialogId,
		method,
		...fields,
		...(timeout === undefined ? {} : { timeout }),
	}).then((answer) => ({ kind: "answer", answer: answer ?? { cancelled: true } }));

	try {
		const outcome = await Promise.race([answered, ...waits]);
		if (outcome.kind === "answer") {
			if (outcome.answer.timedOut) options.onTimeout?.();
			if (outcome.answer.key === "left") options.onLeft?.();
			if (outcome.answer.key === "right") options.onRight?.();
			return outcome.answer;
		}
		answered.catch(() => {});
		hostCall("ui.cancelDialog", { dialogId, reason: outcome.kind });
		if (outcome.kind === "timeout") options.onTimeout?.();
		return { cancelled: true };
	} finally {
		if (timer !== undefined) clearTimeout(timer);
		stopWaiting();
	}
}

function text(answer: DialogAnswer): string | undefined {
	return !answer.cancelled && typeof answer.value === "string" ? answer.value : undefined;
}

function optional(fields: Record<string, unknown>): Record<string, unknown> {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

/** Text for the wire; absent stays absent. */
function asText(value: unknown): string | undefined {
	return value === undefined || value === null ? undefined : String(value);
}

function indexOf(value: unknown): number | undefined {
	return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** The dialogs, as closures. */
export function createDialogs(env: UiEnv) {
	return {
		async select(title: string, items: unknown, options?: DialogOptions): Promise<string | undefined> {
			if (!Array.isArray(items)) throw new TypeError("ui.select: options must be an array");
			// Late oh-my-pi passes {label, description} items.
			const labels = items.map((item) => (isRecord(item) ? String(item.label) : String(item)));
			const descriptions = items.map((item) => (isRecord(item) && item.description ? String(item.description) : ""));
			return text(
				await ask(
					env,
					"select",
					optional({
						title: String(title),
						options: labels,
						descriptions: descriptions.some((d) => d !== "") ? descriptions : undefined,
						initialIndex: indexOf(options?.initialIndex),
						helpText: asText(options?.helpText),
						hasLeft: typeof options?.onLeft === "function" ? true : undefined,
						hasRight: typeof options?.onRight === "function" ? true : undefined,
					}),
					options,
				),
			);
		},
		async confirm(title: string, message?: string, options?: DialogOptions): Promise<boolean> {
			const answer = await ask(env, "confirm", { title: String(title), message: String(message ?? "") }, options);
			return !answer.cancelled && answer.confirmed === true;
		},
		async input(title: string, placeholder?: string, options?: DialogOptions): Promise<string | undefined> {
			return text(
				await ask(env, "input", optional({ title: String(title), placeholder: asText(placeholder) }), options),
			);
		},
		async editor(
			title: string,
			prefill?: string,
			options?: DialogOptions,
			style?: { promptStyle?: unknown },
		): Promise<string | undefined> {
			// An editor has no timeout in any relative.
			const { signal } = options ?? {};
			const fields = optional({
				title: String(title),
				prefill: asText(prefill),
				promptStyle: style?.promptStyle === undefined ? undefined : Boolean(style.promptStyle),
			});
			return text(await ask(env, "editor", fields, signal === undefined ? {} : { signal }));
		},
	};
}
