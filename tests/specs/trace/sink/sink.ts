import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	(pi as any).onLlmTrace((record: any) => {
		const { requestRole, provider, outcome, stopReason, usage } = record;
		console.log(`record ${requestRole.kind} ${provider} ${outcome} ${stopReason} ${typeof usage.input === "number"}`);
	});
}
