export default function (pi: any) {
	pi.registerCommand("later", {
		description: "ends the process in a moment",
		handler: async (_args: string, ctx: any) => {
			setTimeout(() => ctx.shutdown(), 100);
		},
	});
	pi.on("session_shutdown", async () => console.error("shut down in order"));
}
