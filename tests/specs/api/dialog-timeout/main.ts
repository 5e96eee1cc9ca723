export default function (pi: any) {
	pi.registerCommand("ask", {
		description: "Asks and does not wait long",
		handler: async (_args: string, ctx: any) => {
			const start = Date.now();
			const answer = await ctx.ui.confirm("Well?", "Answer", { timeout: 50 });
			const took = Date.now() - start;
			ctx.ui.notify(`${answer} ${took >= 45 && took < 5000}`);
		},
	});
}
