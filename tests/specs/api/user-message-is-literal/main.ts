export default function (pi: any) {
	pi.registerCommand("cmd", { description: "Must not run", handler: async (_args: string, ctx: any) => ctx.ui.notify("ran") });
	pi.registerCommand("go", { description: "Sends", handler: async () => pi.sendUserMessage("/cmd now") });
}
