import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	const show = (what: string, prompt: string) =>
		console.log(`${what}: ${prompt.match(/<language>\n([^]*?)\n<\/language>/)?.[1] ?? "no language"}`);
	pi.on("before_agent_start", (event) => show("asked", event.systemPrompt));
	pi.registerCommand("show", { handler: async (args, ctx) => show(args, ctx.getSystemPrompt()) });
	pi.registerCommand("again", { handler: (_args, ctx) => ctx.reload() });
}
