export default function (pi: any) {
	pi.registerCommand("count", {
		description: "counts keys",
		handler: async (_args: string, ctx: any) => {
			let keys = 0;
			const value = await ctx.ui.custom((tui: any, _theme: any, _keybindings: any, done: any) => ({
				render: (width: number) => [`${keys} keys at ${width}`],
				invalidate() {},
				handleInput(data: string) {
					if (data === "\r") return done(keys);
					keys++;
					tui.requestRender();
				},
			}));
			ctx.ui.notify(`value ${JSON.stringify(value ?? null)}`);
		},
	});
	pi.registerCommand("edges", {
		description: "shows components around the editor",
		handler: async (_args: string, ctx: any) => {
			ctx.ui.setWidget("w", () => ({ render: () => ["widget"], invalidate() {} }));
			ctx.ui.setFooter(() => ({ render: () => ["footer"], invalidate() {} }));
		},
	});
}
