// Loaded after the extension under test, so its handler sees the system prompt that the other one made.
export default function (pi: any) {
	let prompts = 0;
	pi.on("before_agent_start", async (event: any) => {
		prompts++;
		console.log(`prompt ${prompts}: pirate=${event.systemPrompt.includes("PIRATE MODE")}`);
	});
}
