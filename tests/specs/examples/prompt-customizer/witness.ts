// Loaded after the extension under test, so its handler sees the prompt that the other one made.
export default function (pi: any) {
	pi.on("before_agent_start", (event: any) => {
		const section = String(event.systemPromptOptions.sections.tool_guidance).includes("Use `bash`");
		const prompt = event.systemPrompt.includes("<tool_guidance>\n- Use `read`");
		console.log(`witness: section=${section} prompt=${prompt}`);
	});
}
