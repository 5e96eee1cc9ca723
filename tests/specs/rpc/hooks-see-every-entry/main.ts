export default function (pi: any) {
	const inputs: string[] = [];
	const bash: string[] = [];
	pi.on("input", (event: any) => void inputs.push(`${event.source}:${event.text.split("\n")[0]}`));
	pi.on("user_bash", (event: any) => void bash.push(event.command));
	pi.registerCommand("send", { description: "Sends a message", handler: async () => pi.sendUserMessage("from the extension") });
	pi.registerCommand("counts", {
		description: "Says what the hooks saw",
		handler: async (_args: string, ctx: any) => ctx.ui.notify(`input: ${inputs.join(", ")}; bash: ${bash.join(", ")}`),
	});
}
