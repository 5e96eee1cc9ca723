import { complete } from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

async function* stream(): AsyncGenerator<any> {
	const text = { type: "text", text: "hello from own" };
	const call = { type: "toolCall", id: "c", name: "read", arguments: { path: "note" } };
	const partial = { role: "assistant", content: [text, { ...call, arguments: {} }] };
	yield { type: "start", partial };
	yield { type: "text_start", contentIndex: 0, partial };
	yield { type: "text_delta", contentIndex: 0, delta: "hello from own", partial };
	yield { type: "text_end", contentIndex: 0, content: "hello from own", partial };
	yield { type: "toolcall_start", contentIndex: 1, partial };
	yield { type: "toolcall_delta", contentIndex: 1, delta: '{"path": "no', partial };
	yield { type: "toolcall_delta", contentIndex: 1, delta: 'te"}', partial };
	yield { type: "toolcall_end", contentIndex: 1, toolCall: call, partial };
	const message = { role: "assistant", content: [text, call], stopReason: "toolUse", usage: {}, timestamp: 1 };
	yield { type: "done", reason: "toolUse", message };
}

export default function (pi: ExtensionAPI) {
	pi.registerProvider("own", {
		baseUrl: "http://nowhere",
		apiKey: "k",
		api: "own-api",
		streamSimple: stream as any,
		models: [
			{
				id: "m",
				name: "M",
				reasoning: false,
				input: ["text"],
				cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
				contextWindow: 1000,
				maxTokens: 100,
			},
		],
	});
	pi.registerCommand("ask", {
		handler: async (_args, ctx) => {
			const model: any = ctx.modelRegistry.find("own", "m");
			const context = { messages: [{ role: "user" as const, content: "hi", timestamp: 1 }] };
			const first: any = await complete(model, context);
			console.log(`library: ${first.errorMessage ?? first.content[0].text}`);
			const events: any = (ctx.modelRegistry as any).stream(model, context);
			for await (const event of events) {
				if (event.type !== "toolcall_delta" || !event.delta.startsWith("{")) continue;
				console.log(`partial: ${JSON.stringify(event.partial.content[1].arguments)}`);
			}
			const second: any = await events.result();
			console.log(`registry: ${second.errorMessage ?? second.content[0].text}`);
		},
	});
}
