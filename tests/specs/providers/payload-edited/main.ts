import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerProvider("local", {
		baseUrl: `${process.env.PIER_TEST_SERVER}/v1`,
		api: "openai-completions",
		apiKey: "key",
		models: [
			{
				id: "m1",
				name: "M1",
				reasoning: false,
				input: ["text"],
				cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
				contextWindow: 100000,
				maxTokens: 1000,
			},
		],
	});
	const last = (payload: any) => payload.messages.at(-1);
	pi.on("before_provider_request", (event) => {
		last(event.payload).content = "edited";
	});
	pi.on("before_provider_request", (event) => console.log(`next sees ${last(event.payload).content}`));
}
