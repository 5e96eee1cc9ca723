export default function (pi: any) {
	pi.on("session_start", async (_event: any, ctx: any) => {
		const yes = await ctx.ui.confirm("Start?", "Really?");
		ctx.ui.notify(`started: ${yes}`);
	});
}
