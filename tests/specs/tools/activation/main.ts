function tool(name: string, more: object): object {
	return {
		name,
		label: name,
		description: name,
		parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: `${name} ran` }], details: {} }),
		...more,
	};
}

export default function (pi: any) {
	pi.registerTool(tool("visible", {}));
	pi.registerTool(tool("sleeper", { defaultInactive: true }));
	pi.registerTool(tool("dozer", { defaultActive: false }));
	pi.on("session_start", () => {
		const all = pi.getAllTools().map((tool: any) => tool.name ?? tool);
		console.log(`start: ${pi.getActiveTools().sort()} of ${all.sort()}`);
	});
	pi.on("tool_execution_end", (event: any) => console.log(`result ${event.toolName}: ${event.result.content[0].text}`));
	pi.registerCommand("wake", {
		description: "Activates the tools that sleep",
		handler: async () => {
			pi.setActiveTools(["sleeper", "dozer", "nobody"]);
			console.log(`woken: ${pi.getActiveTools().sort()}`);
		},
	});
}
