// What the parts of one `ctx.ui` object share: whose it is, which call it belongs to, and how it reaches the host.

import { hostCall } from "../../host.ts";
import type { JsonValue } from "../json.ts";
import type { UiFlavor } from "../protocol.ts";
import type { ExtensionRecord } from "../record.ts";
import type { Runtime } from "../runtime.ts";

export class UiEnv {
	readonly runtime: Runtime;
	readonly record: ExtensionRecord;
	readonly callId: number | undefined;
	/** Throws when the context is stale. */
	readonly guard: () => void;

	constructor(runtime: Runtime, record: ExtensionRecord, callId: number | undefined, guard: () => void) {
		this.runtime = runtime;
		this.record = record;
		this.callId = callId;
		this.guard = guard;
	}

	get flavor(): UiFlavor {
		return this.runtime.flavor;
	}

	/** Whether a person can be asked something. */
	get hasDialogs(): boolean {
		return this.flavor === "tui" || this.flavor === "rpc" || this.flavor === "acp";
	}

	/** Whether the frontend draws components. */
	get hasComponents(): boolean {
		return (this.flavor === "tui" || this.flavor === "rpc") && this.runtime.bound?.ui?.components === true;
	}

	/** Members that every UI call carries. */
	get origin(): { ext: number; callId?: number } {
		return this.callId === undefined ? { ext: this.record.ext } : { ext: this.record.ext, callId: this.callId };
	}

	/** Sends a frame if the current frontend is one of `flavors`; says whether it did. */
	send(flavors: readonly UiFlavor[], method: string, fields: Record<string, unknown>): boolean {
		if (!flavors.includes(this.flavor)) return false;
		hostCall("ui", { ...this.origin, method, ...fields });
		return true;
	}

	/** Asks the terminal UI for a value; other frontends have none. */
	ask(what: string, name?: string): JsonValue | undefined {
		if (this.flavor !== "tui") return undefined;
		return hostCall("uiState", name === undefined ? { what } : { what, name });
	}

	/** Tells the frontend, once per extension and feature, that something cannot be shown. */
	unsupported(feature: string): void {
		if (this.flavor !== "rpc" && this.flavor !== "tui") return;
		if (this.record.reportedFeatures.has(feature)) return;
		this.record.reportedFeatures.add(feature);
		hostCall("ui", { ...this.origin, method: "unsupported", feature });
	}
}
