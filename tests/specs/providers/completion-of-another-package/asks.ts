import { complete, completeSimple, stream, streamSimple } from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const ask = (text: string): any => ({ messages: [{ role: "user", content: text, timestamp: 1 }] });

export default function (pi: ExtensionAPI) {
	pi.registerProvider("throws", {
		baseUrl: "http://nowhere",
		apiKey: "k",
		api: "throwing-api",
		streamSimple: () => {
			throw new Error("streamSimple broke");
		},
		models: [{ id: "m", name: "M" }] as any,
	});
	pi.registerCommand("ask", {
		handler: async (_args, ctx) => {
			const model: any = ctx.model;
			const show = (what: string, answer: any) =>
				console.log(`${what}: ${answer.stopReason} ${answer.errorMessage ?? answer.content[0]?.text}`);
			show("complete", await complete(model, ask("hi")));
			show("completeSimple", await completeSimple(model, ask("hi")));
			for (const [name, open] of Object.entries({ stream, streamSimple })) {
				const types: string[] = [];
				const events = (open as typeof stream)(model, ask("hi"));
				for await (const event of events) types.push(event.type);
				console.log(`${name}: ${types} ${((await events.result()) as any).content[0].text}`);
			}
			show("failing", await complete(model, ask("@error out of order")));
			show("aborted", await complete(model, ask("hi"), { signal: AbortSignal.abort() }));
			const unknown: any = { ...model, provider: "nobody", api: "nobody-api", id: "n" };
			show("nobody's", await complete(unknown, ask("hi")));
			for await (const event of streamSimple(unknown, ask("hi"))) console.log(`nobody's stream: ${event.type}`);
			show("throwing", await complete(ctx.modelRegistry.find("throws", "m") as any, ask("hi")));
			show("model without members", await complete({} as any, ask("hi")));
		},
	});
}
