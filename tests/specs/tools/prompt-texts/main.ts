export default function (pi: any) {
	pi.registerTool({
		name: "moon",
		label: "Moon",
		description: "Tells the phase of the moon",
		promptSnippet: "phases of the moon",
		promptGuidelines: ["Ask the moon before you sail."],
		parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [], details: {} }),
	});
	pi.registerCommand("off", {
		description: "Takes the tool away",
		handler: async () => pi.setActiveTools(pi.getActiveTools().filter((name: string) => name !== "moon")),
	});
	pi.on("before_agent_start", ({ prompt, systemPrompt }: any) => {
		const snippet = systemPrompt.includes("- moon: phases of the moon\n");
		const guideline = systemPrompt.includes("- Ask the moon before you sail.\n");
		console.log(`${prompt}: snippet=${snippet} guideline=${guideline}`);
	});
}
