export default function (pi: any) {
	pi.registerCommand("ask", {
		description: "Opens dialogs and waits for all of them",
		handler: async (args: string, ctx: any) => {
			const { signal } = new AbortController();
			const answers = Array.from({ length: Number(args) }, (_, n) => ctx.ui.confirm("Sure?", `number ${n}`, { signal }));
			ctx.ui.notify("all asked");
			await Promise.all(answers);
		},
	});
}
