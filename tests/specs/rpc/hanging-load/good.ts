export default function (pi: any) {
	pi.registerCommand("fine", { description: "works", handler: async (_: string, ctx: any) => ctx.ui.notify("fine") });
}
