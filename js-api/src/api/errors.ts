// Error classes that cross the API, and the mapping of host errors to them.
// Texts are part of the contract (`spec/extension-api.md` §1.2, §1.4, §2.2, §4.5); change them only with the spec.

/**
 * Thrown by action methods that are called while the extension is still loading (§2.2). The class deliberately leaves `name`
 * as "Error": extensions compare it.
 */
export class ExtensionRuntimeNotInitializedError extends Error {
	constructor() {
		super("Extension runtime not initialized. Action methods cannot be called during extension loading.");
	}
}

/** The module has no factory function (§1.2). The host reports its message without a prefix. */
export class InvalidFactoryError extends Error {
	constructor(path: string) {
		super(`Extension does not export a valid factory function: ${path}`);
		this.name = "InvalidFactoryError";
	}
}

/** Any use of the API object of an extension whose factory failed (§1.4). */
export class ExtensionNotActiveError extends Error {
	constructor(path: string) {
		super(`Extension "${path}" failed to load and its API is no longer active.`);
		this.name = "ExtensionNotActiveError";
	}
}

/** Any use of a context or API object from before a session replacement or reload (§4.5). */
export class StaleExtensionError extends Error {
	constructor(message?: string) {
		super(
			message ??
				"This extension ctx is stale after session replacement or reload. Use the context passed to the new session instead.",
		);
		this.name = "StaleExtensionError";
	}
}

/** A part of `ctx.ui` that this frontend cannot show. */
export class UnsupportedUiError extends Error {
	/** Name of the method, such as `custom`. */
	readonly feature: string;

	constructor(feature: string, detail: string) {
		super(`ctx.ui.${feature}() is not supported here: ${detail}`);
		this.name = "UnsupportedUiError";
		this.feature = feature;
	}
}

/** The deadline of the call that this context belongs to has passed; nothing it does has an effect any more. */
export class CallRevokedError extends Error {
	constructor(message: string) {
		super(message);
		this.name = "CallRevokedError";
	}
}

const BUILT_IN: Record<string, new (message: string) => Error> = {
	TypeError,
	RangeError,
	SyntaxError,
	CallRevokedError,
	StaleExtensionError,
};

/** Gives an error of the host the class its name stands for. Other errors come back as they are, or wrapped if not an `Error`. */
export function errorFromHost(error: unknown): Error {
	if (!(error instanceof Error)) return new Error(String(error));
	if (error.name === "ExtensionRuntimeNotInitializedError") return new ExtensionRuntimeNotInitializedError();
	const known = BUILT_IN[error.name];
	if (known === undefined || error.constructor === known) return error;
	const mapped = new known(error.message);
	mapped.cause = error;
	return mapped;
}

/** `value` if it is an `Error`, else an `Error` with its text. */
export function toError(value: unknown): Error {
	return value instanceof Error ? value : new Error(textOf(value));
}

function textOf(value: unknown): string {
	try {
		return String(value);
	} catch {
		return "unprintable thrown value";
	}
}

/** Message of anything that was thrown. */
export function messageOf(value: unknown): string {
	return value instanceof Error ? value.message : textOf(value);
}

/** Marks a promise as looked after, so that a caller who ignores it never causes an unhandled rejection (§11.2). */
export function handled<T>(promise: Promise<T>): Promise<T> {
	promise.catch(() => {});
	return promise;
}
