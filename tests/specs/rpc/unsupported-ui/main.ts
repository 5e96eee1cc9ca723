export default function (pi: any) {
	pi.registerCommand("parts", {
		description: "Uses what only a terminal has",
		handler: async (_args: string, ctx: any) => {
			ctx.ui.setWorkingMessage("one");
			ctx.ui.setWorkingMessage("two");
			ctx.ui.setEditorComponent(() => ({ render: () => [], invalidate() {} }));
			ctx.ui.notify("done");
		},
	});
}
