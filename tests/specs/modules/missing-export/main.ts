import { neitherThis, noSuchThing } from "@earendil-works/pi-coding-agent";

export default function (pi: any) {
	const parameters = { type: "object", properties: {} };
	pi.registerTool({
		name: "ok", label: "Ok", description: "Does not touch it", parameters,
		execute: async () => ({ content: [{ type: "text", text: "fine" }] }),
	});
	pi.registerTool({
		name: "use", label: "Use", description: "Touches it", parameters,
		execute: async () => ({ content: [{ type: "text", text: String(noSuchThing(neitherThis)) }] }),
	});
}
