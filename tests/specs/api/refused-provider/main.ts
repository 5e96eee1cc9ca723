import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerProvider("shop", { api: "openai-completions", apiKey: "key", models: [{ id: "m1" }] as never });
	pi.registerCommand("alive", { handler: async () => console.log("alive") });
}
