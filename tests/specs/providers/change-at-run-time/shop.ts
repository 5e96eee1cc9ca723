import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const model = (id: string) => ({
	id,
	name: id,
	reasoning: false,
	input: ["text"] as ("text" | "image")[],
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
	contextWindow: 1000,
	maxTokens: 100,
});

export default function (pi: ExtensionAPI) {
	const config = {
		baseUrl: "http://127.0.0.1:9/none",
		api: "openai-completions",
		apiKey: "literal",
		models: [model("old")],
		refreshModels: async () => [model("old"), model("new")],
	};
	pi.registerProvider("shop", config);
	pi.registerCommand("refresh", { handler: (_args, ctx) => ctx.modelRegistry.refresh() });
	pi.registerCommand("head", { handler: async () => pi.registerProvider("shop", { headers: { "x-more": "1" } }) });
	pi.registerCommand("close", { handler: async () => pi.unregisterProvider("shop") });
	pi.registerCommand("open", { handler: async () => pi.registerProvider("shop", config) });
}
