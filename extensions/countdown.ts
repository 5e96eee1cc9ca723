/** A tool that takes time: it reports progress while it runs and stops when the run is aborted. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
	pi.registerTool({
		name: "countdown",
		label: "Countdown",
		description: "Counts down, one step every 20 milliseconds",
		parameters: Type.Object({ from: Type.Integer({ minimum: 1, maximum: 1000 }) }),
		async execute(_id, { from }, signal, onUpdate) {
			for (let left = from; left > 0; left--) {
				onUpdate?.({ content: [{ type: "text", text: String(left) }], details: { left } });
				await sleep(20, undefined, { signal });
			}
			return { content: [{ type: "text", text: "liftoff" }], details: { left: 0 } };
		},
	});
}
