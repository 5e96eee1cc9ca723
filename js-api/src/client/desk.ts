// Gives requests of extensions to the caller's functions and their answers back. Every dialog is answered, or known to have ended, whatever the
// functions do.

import { CustomComponent } from "./component.js";
import { PierError, asError, guarded } from "./errors.js";
import type { DialogRequest, UiHandlers, UiRequest } from "./ui.js";

/** What the desk needs of the connection. */
export interface Post {
	/** Writes a record. Failing is noticed elsewhere. */
	post(record: object): void;
	/** Reports what nobody waits for. */
	report(error: Error): void;
}

interface OpenDialog {
	readonly ends: AbortController;
	/** Place in the order in which dialogs came. */
	readonly number: number;
	timer?: NodeJS.Timeout;
}

export class UiDesk {
	readonly #post: Post;
	#handlers: UiHandlers = {};
	readonly #dialogs = new Map<string, OpenDialog>();
	readonly #components = new Map<string, CustomComponent>();
	#count = 0;

	constructor(post: Post) {
		this.#post = post;
	}

	use(handlers: UiHandlers): void {
		this.#handlers = handlers;
	}

	/** How many dialogs came until now. */
	get count(): number {
		return this.#count;
	}

	request(request: UiRequest): void {
		switch (request.method) {
			case "select":
			case "confirm":
			case "input":
			case "editor":
				void this.#dialog(request);
				return;
			case "custom":
				void this.#custom(new CustomComponent(request, this.#port));
				return;
			case "frame":
				this.#components.get(request.targetId)?.drawn(request);
				return;
			case "close":
				this.#components.get(request.targetId)?.closed();
				this.#components.delete(request.targetId);
				return;
			case "cancel":
				this.#dialogs
					.get(request.targetId)
					?.ends.abort(new PierError("The extension does not wait for this dialog any more"));
				return;
			default: {
				// One of the methods that only show something. The request fits the function of its own method.
				const show = this.#handlers[request.method] as ((shown: UiRequest) => unknown) | undefined;
				guarded(() => show?.(request), this.#post.report);
			}
		}
	}

	/** Ends the first `count` dialogs that came, as far as they are still open. */
	endDialogs(count: number, reason: string): void {
		for (const dialog of this.#dialogs.values()) {
			if (dialog.number <= count) dialog.ends.abort(new PierError(reason));
		}
	}

	/** Pier is gone: nothing can be answered any more. */
	end(reason: Error): void {
		for (const dialog of this.#dialogs.values()) dialog.ends.abort(reason);
		for (const component of this.#components.values()) component.closed();
		this.#components.clear();
	}

	readonly #port = {
		input: (id: string, data: string) => this.#post.post({ type: "extension_ui_input", id, data }),
		cancel: (id: string) => {
			this.#components.delete(id);
			this.#answer(id, { cancelled: true });
		},
	};

	async #dialog(request: DialogRequest): Promise<void> {
		const dialog: OpenDialog = { ends: new AbortController(), number: ++this.#count };
		const { signal } = dialog.ends;
		this.#dialogs.set(request.id, dialog);
		if ("timeout" in request && request.timeout !== undefined && request.timeout > 0) {
			const over = new PierError(`The dialog "${request.title}" was open for ${request.timeout} ms`);
			dialog.timer = setTimeout(() => dialog.ends.abort(over), Math.min(request.timeout, 2 ** 31 - 1));
		}
		let answer: object = { cancelled: true };
		try {
			const value = await this.#ask(request, signal);
			if (value !== undefined) answer = request.method === "confirm" ? { confirmed: value } : { value };
		} catch (error) {
			// Functions that are stopped by the signal fail with its reason.
			if (!signal.aborted) this.#post.report(asError(error));
		} finally {
			clearTimeout(dialog.timer);
			this.#dialogs.delete(request.id);
		}
		if (!signal.aborted) this.#answer(request.id, answer);
	}

	#ask(request: DialogRequest, signal: AbortSignal) {
		switch (request.method) {
			case "select":
				return this.#handlers.select?.(request, signal);
			case "confirm":
				return this.#handlers.confirm?.(request, signal);
			case "input":
				return this.#handlers.input?.(request, signal);
			case "editor":
				return this.#handlers.editor?.(request, signal);
		}
	}

	async #custom(component: CustomComponent): Promise<void> {
		const show = this.#handlers.custom;
		if (show === undefined) return this.#answer(component.id, { cancelled: true });
		this.#components.set(component.id, component);
		try {
			await show(component);
		} catch (error) {
			if (!component.signal.aborted) this.#post.report(asError(error));
			component.close();
		}
	}

	#answer(id: string, answer: object): void {
		this.#post.post({ type: "extension_ui_response", id, ...answer });
	}
}
