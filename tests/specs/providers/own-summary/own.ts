// A protocol that only this package knows.
export default function (pi: any) {
	pi.registerProvider("own", {
		baseUrl: "http://nowhere",
		apiKey: "k",
		api: "own-api",
		async *streamSimple(model: any, context: any, options: any) {
			const usage = { input: 5, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 7 };
			const text = `about ${context.messages.length} message with key ${options.apiKey}`;
			const message = { role: "assistant", content: [{ type: "text", text }], usage, timestamp: 1 };
			if (model.id === "broken") {
				const error = { ...message, stopReason: "error", errorMessage: "out of words" };
				yield { type: "error", reason: "error", error };
				return;
			}
			yield { type: "done", reason: "stop", message: { ...message, stopReason: "stop" } };
		},
		models: ["m", "broken"].map((id) => ({
			id,
			name: id,
			reasoning: false,
			input: ["text"],
			cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
			contextWindow: 1000,
			maxTokens: 100,
		})),
	});
}
