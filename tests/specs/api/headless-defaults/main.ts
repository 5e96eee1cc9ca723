export default function (pi: any) {
	pi.registerCommand("try", {
		description: "Calls everything",
		handler: async (_args: string, ctx: any) => {
			const { ui } = ctx;
			ui.notify("x");
			ui.setStatus("k", "v");
			ui.setWidget("k", ["a"]);
			ui.setWidget("c", () => ({ render: () => ["x"], invalidate() {} }));
			ui.setTitle("t");
			ui.setEditorText("e");
			ui.pasteToEditor("p");
			ui.setWorkingMessage("w");
			ui.setFooter(undefined);
			ui.setHeader(undefined);
			const answers = {
				hasUI: ctx.hasUI,
				mode: ctx.mode,
				select: (await ui.select("s", ["a"])) ?? null,
				confirm: await ui.confirm("c", "m"),
				input: (await ui.input("i")) ?? null,
				editor: (await ui.editor("e")) ?? null,
				editorText: ui.getEditorText(),
				theme: typeof ui.theme.fg("dim", "x") === "string",
			};
			console.log(JSON.stringify(answers));
		},
	});
}
