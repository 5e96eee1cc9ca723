// What extensions ask of, and show to, the person at the client (docs/rpc.md, "Dialogs and other UI" and "Components"). Types only.

import type { CustomComponent } from "./component.js";

interface Request<Method extends string> {
	type: "extension_ui_request";
	id: string;
	method: Method;
}
/** Milliseconds after which Pier goes on as if the dialog was cancelled; absent and 0 mean never. */
interface Timed {
	timeout?: number;
}

export interface SelectRequest extends Request<"select">, Timed {
	title: string;
	options: string[];
	/** (xcsh) */
	initialIndex?: number;
	helpText?: string;
}
export interface ConfirmRequest extends Request<"confirm">, Timed {
	title: string;
	message: string;
}
export interface InputRequest extends Request<"input">, Timed {
	title: string;
	placeholder?: string;
}
export interface EditorRequest extends Request<"editor"> {
	title: string;
	prefill?: string;
	/** (xcsh) */
	promptStyle?: boolean;
}
export interface NotifyRequest extends Request<"notify"> {
	message: string;
	/** `info` when absent. */
	notifyType?: "info" | "warning" | "error";
}
export interface SetStatusRequest extends Request<"setStatus"> {
	statusKey: string;
	/** Absent clears the key. */
	statusText?: string;
}
export interface SetWidgetRequest extends Request<"setWidget"> {
	widgetKey: string;
	/** Absent clears the widget. */
	widgetLines?: string[];
	widgetPlacement?: "aboveEditor" | "belowEditor";
}
export interface SetTitleRequest extends Request<"setTitle"> {
	title: string;
}
export interface SetEditorTextRequest extends Request<"set_editor_text"> {
	text: string;
}

/** What a component looks like: lines of text with ANSI colours, and where its cursor is, counted from 0. */
export interface Picture {
	lines: string[];
	cursor?: { row: number; column: number };
}
export interface CustomRequest extends Request<"custom">, Picture {
	overlay: boolean;
}
export interface FrameRequest extends Request<"frame">, Picture {
	/** Id of the `custom` request. */
	targetId: string;
}
export interface CloseRequest extends Request<"close"> {
	targetId: string;
}
/** Without lines the place is empty again. */
export interface SetHeaderRequest extends Request<"setHeader">, Partial<Picture> {}
export interface SetFooterRequest extends Request<"setFooter">, Partial<Picture> {}
/** A dialog ended early. Pier sends it in the xcsh dialect only. */
export interface CancelRequest extends Request<"cancel"> {
	targetId: string;
}

export type DialogRequest = SelectRequest | ConfirmRequest | InputRequest | EditorRequest;
export type UiRequest =
	| DialogRequest
	| NotifyRequest
	| SetStatusRequest
	| SetWidgetRequest
	| SetTitleRequest
	| SetEditorTextRequest
	| CustomRequest
	| FrameRequest
	| CloseRequest
	| SetHeaderRequest
	| SetFooterRequest
	| CancelRequest;

/**
 * Answers a dialog. `undefined` cancels it, and so does a failure. The signal fires when the answer does not count any more: the time is over, the run
 * was aborted, the session was replaced, Pier ended.
 */
type Dialog<R extends DialogRequest, Answer> = (
	request: R,
	signal: AbortSignal,
) => Answer | undefined | Promise<Answer | undefined>;
type Show<R extends UiRequest> = (request: R) => void;

/** The user interface, method by method. What has no function is cancelled or not shown. */
export interface UiHandlers {
	select?: Dialog<SelectRequest, string>;
	confirm?: Dialog<ConfirmRequest, boolean>;
	input?: Dialog<InputRequest, string>;
	editor?: Dialog<EditorRequest, string>;
	/** Shows a component until it is closed. A failure closes it. */
	custom?: (component: CustomComponent) => void | Promise<void>;
	notify?: Show<NotifyRequest>;
	setStatus?: Show<SetStatusRequest>;
	setWidget?: Show<SetWidgetRequest>;
	setTitle?: Show<SetTitleRequest>;
	set_editor_text?: Show<SetEditorTextRequest>;
	setHeader?: Show<SetHeaderRequest>;
	setFooter?: Show<SetFooterRequest>;
}
