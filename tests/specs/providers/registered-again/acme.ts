import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	const server = process.env.PIER_TEST_SERVER;
	pi.registerProvider("acme", {
		baseUrl: `${server}/first`,
		api: "openai-completions",
		apiKey: "the-key",
		headers: { "x-first": "1", "x-both": "first" },
		models: [
			{
				id: "big",
				name: "Big",
				reasoning: false,
				input: ["text"],
				cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
				contextWindow: 100000,
				maxTokens: 1000,
				headers: { "x-model": "big", "x-late": "model" },
			},
		],
	});
	pi.registerProvider("acme", { headers: { "x-both": "second" } });
	pi.registerCommand("move", {
		handler: async (_args, ctx) => {
			pi.registerProvider("acme", { baseUrl: `${server}/moved`, headers: { "x-late": "late" } });
			if (ctx.modelRegistry.find("acme", "big") === undefined) throw new Error("the model is gone");
		},
	});
}
