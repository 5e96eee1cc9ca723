import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerProvider("acme", {
		baseUrl: `${process.env.PIER_TEST_SERVER}/acme`,
		api: process.env.API,
		apiKey: "$ACME_KEY",
		authHeader: true,
		headers: { "x-team": "team-${TEAM}", "x-plain": "TEAM", "x-said": "!printf said" },
		models: [
			{
				id: "big",
				name: "Big",
				reasoning: false,
				input: ["text"],
				cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
				contextWindow: 100000,
				maxTokens: 1000,
				headers: { "x-model": "big" },
			},
		],
	});
}
