export default function (pi: any) {
	let again = "";
	pi.on("before_agent_start", async (event: any) => {
		console.log(`two sees ${event.systemPrompt.split("MARK").length - 1} mark${again}`);
		again = " again";
		return { message: { customType: "two", content: "from two", display: true } };
	});
}
