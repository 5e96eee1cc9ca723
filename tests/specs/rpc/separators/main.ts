export default function (pi: any) {
	pi.registerCommand("ask", {
		description: "asks with separators in the title",
		handler: async (_args: string, ctx: any) => {
			const answer = await ctx.ui.input("a\u2028b\u2029c\u0085d");
			ctx.ui.notify(`got ${answer}`);
		},
	});
}
