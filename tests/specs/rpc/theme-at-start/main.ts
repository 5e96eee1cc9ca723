export default function (pi: any) {
	pi.on("session_start", (_event: any, ctx: any) => {
		const text = ctx.ui.theme.fg("dim", "x");
		console.log(`theme: ${text.includes("x")}`);
	});
}
