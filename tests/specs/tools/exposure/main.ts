import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const names = ["plain", "model-only", "codemode", "deferred", "hidden"];

function tool(name: string, more: object): object {
	return {
		name,
		label: name,
		description: name,
		promptSnippet: `snippet of ${name}`,
		parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: `${name} ran` }], details: {} }),
		...more,
	};
}

export default function (pi: ExtensionAPI & any) {
	let turn = "first ";
	for (const name of names) pi.registerTool(tool(name, name === "plain" ? {} : { exposure: name }));
	pi.registerTool(
		tool("caller", {
			async execute(_id: string, _params: any, _signal: any, _onUpdate: any, ctx: any) {
				console.log(`listed: ${own(ctx.tools.map((one: any) => one.name))}`);
				for (const name of names) {
					const { result } = await ctx.executeTool(name, {});
					console.log(`${name} from a tool: ${result.content[0].text}`);
				}
				return { content: [{ type: "text", text: "called" }], details: {} };
			},
		}),
	);
	const own = (list: string[]) => list.filter((name) => ["caller", ...names].includes(name)).sort();
	pi.on("session_start", () => {
		console.log(`start: ${own(pi.getActiveTools())}`);
		const all = pi.getAllTools().filter((one: any) => own([one.name]).length > 0);
		console.log(`exposures: ${all.map((one: any) => `${one.name}=${one.exposure}`).sort()}`);
	});
	pi.on("before_agent_start", ({ systemPrompt }: any) => {
		if (turn === "") return;
		const has = (name: string) => systemPrompt.includes(`snippet of ${name}`);
		console.log(`prompt of the first: hidden=${has("hidden")} codemode=${has("codemode")} plain=${has("plain")}`);
	});
	pi.on("tool_execution_end", (event: any) => {
		if (event.parentToolCallId === undefined) console.log(`${turn}result ${event.toolName}: ${event.result.content[0].text}`);
	});
	pi.registerCommand("wake", {
		description: "Names tools that wait for it",
		handler: async () => {
			turn = "";
			pi.setActiveTools(["codemode", "deferred", "hidden"]);
			console.log(`woken: ${pi.getActiveTools().sort()}`);
		},
	});
}
