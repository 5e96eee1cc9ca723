// The `pi-agent-core` host module: the real loop library, plus the run-time names of the xcsh edition (sdk-exports §5).

export * from "@earendil-works/pi-agent-core";

/** Thrown when a run is started while another one is in progress. */
export class AgentBusyError extends Error {
	override readonly name = "AgentBusyError";

	constructor(
		message = "Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.",
	) {
		super(message);
	}
}

/** Name of the argument in which xcsh's models state what a tool call is for. */
export const INTENT_FIELD = "_i";

/** xcsh: the thinking levels as an object. */
export const ThinkingLevel = Object.freeze({
	Inherit: "inherit",
	Off: "off",
	Minimal: "minimal",
	Low: "low",
	Medium: "medium",
	High: "high",
	XHigh: "xhigh",
	Max: "max",
} as const);
export type ThinkingLevel = (typeof ThinkingLevel)[keyof typeof ThinkingLevel];
