export default function (pi: any) {
	pi.registerTool({
		name: "outer",
		label: "Outer",
		description: "Calls other tools",
		parameters: { type: "object", properties: {} },
		async execute(_id: string, _params: any, _signal: any, _onUpdate: any, ctx: any) {
			const show = (what: string, { result, isError }: any) =>
				console.log(`${what}: ${result.content.map((block: any) => block.text).join("").trim()} error=${isError}`);
			show("bash", await ctx.executeTool("bash", { command: "echo inner" }));
			show("blocked", await ctx.executeTool("bash", { command: "echo secret" }));
			show("missing", await ctx.executeTool("nobody", {}));
			console.log(`bad arguments: ${(await ctx.executeTool("bash", { command: 3, timeout: "x" })).isError}`);
			return { content: [{ type: "text", text: "4 calls" }], details: {} };
		},
	});
}
