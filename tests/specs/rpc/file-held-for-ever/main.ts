import { join } from "node:path";
import { withFileMutationQueue } from "@earendil-works/pi-coding-agent";

export default function (pi: any) {
	const hold = (ctx: any) =>
		new Promise<void>((resolve) => {
			void withFileMutationQueue(join(ctx.cwd, "a.txt"), () => {
				resolve();
				return new Promise<void>(() => undefined);
			});
		});
	pi.registerCommand("hold", {
		description: "Takes the file for ever, and ends",
		handler: async (_args: string, ctx: any) => {
			await hold(ctx);
			ctx.ui.notify("held");
		},
	});
	pi.registerCommand("hang", {
		description: "Takes the file for ever, and does not end",
		handler: async (_args: string, ctx: any) => {
			await hold(ctx);
			ctx.ui.notify("hangs");
			await new Promise(() => undefined);
		},
	});
	pi.registerCommand("spin", {
		description: "Takes the file, and the processor",
		handler: async (_args: string, ctx: any) => {
			await hold(ctx);
			ctx.ui.notify("spins");
			for (;;);
		},
	});
	pi.registerCommand("again", { description: "Reloads", handler: (_args: string, ctx: any) => ctx.reload() });
}
