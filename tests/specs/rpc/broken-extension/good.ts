export default function (pi: any) {
	pi.registerCommand("good", { description: "works", handler: async (_args: string, ctx: any) => ctx.ui.notify("good works") });
}
