import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const call = (id: string) => ({ type: "toolCall", id, name: "bash", arguments: { command: "touch ran.txt" } });

function message(content: unknown[], stopReason = "toolUse") {
	return { role: "assistant", content, stopReason, usage: {}, timestamp: 1 };
}

async function* stream(_model: unknown, context: any): AsyncGenerator<any> {
	const how = JSON.stringify(context.messages).match(/no-end|changed-id|other-call|unfinished-call|twice|throws|goes-on/)?.[0];
	const partial = message([call("a")]);
	yield { type: "start", partial };
	yield { type: "toolcall_start", contentIndex: 0, partial };
	yield { type: "toolcall_delta", contentIndex: 0, delta: "{}", partial };
	if (how === "unfinished-call") {
		yield { type: "done", reason: "toolUse", message: message([call("a")]) };
		return;
	}
	const end = { type: "toolcall_end", contentIndex: 0, toolCall: call(how === "changed-id" ? "b" : "a"), partial };
	yield end;
	if (how === "no-end") return;
	if (how === "throws") throw new Error("the wire broke");
	if (how === "twice") yield end;
	yield { type: "done", reason: "toolUse", message: message([call(how === "other-call" ? "c" : "a")]) };
	if (how === "goes-on") yield { type: "text_start", contentIndex: 1, partial };
}

export default function (pi: ExtensionAPI) {
	pi.registerProvider("broken", {
		baseUrl: "http://nowhere",
		apiKey: "k",
		api: "broken-api",
		streamSimple: ((model: any, context: any) =>
			JSON.stringify(context.messages).includes("no-stream") ? 42 : stream(model, context)) as any,
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
}
