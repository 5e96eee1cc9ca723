export default function (pi: any) {
	let runs = 0;
	pi.on("before_agent_start", (event: any) => {
		runs++;
		if (runs > 1) return;
		const options = event.systemPromptOptions;
		options.promptGuidelines.push("Shout.");
		options.selectedTools = ["read"];
		options.toolSnippets.read = "reads, loudly";
	});
	pi.on("agent_start", (_event: any, ctx: any) => {
		const prompt = ctx.getSystemPrompt();
		const guideline = prompt.includes("- Shout.") ? "Shout." : "none";
		const snippet = prompt.includes("- read: reads, loudly") ? "reads, loudly" : "none";
		console.log(
			`run ${runs}: ${guideline}|tools=${pi.getActiveTools()}|custom=${prompt.includes("Not A Tag")}|snippet=${snippet}`,
		);
	});
}
