import { join } from "node:path";
import { withFileMutationQueue } from "@earendil-works/pi-coding-agent";

export default function (pi: any) {
	pi.registerCommand("try", {
		description: "Works on files",
		handler: async (_args: string, ctx: any) => {
			const order: string[] = [];
			let open: () => void = () => undefined;
			const gate = new Promise<void>((resolve) => (open = resolve));
			const file = join(ctx.cwd, "a.txt");
			const first = withFileMutationQueue(file, async () => {
				order.push("begin 1");
				await gate;
				order.push("end 1");
			});
			const second = withFileMutationQueue(join(ctx.cwd, ".", "sub", "..", "a.txt"), async () => {
				order.push("begin 2", "end 2");
			});
			await withFileMutationQueue(join(ctx.cwd, "b.txt"), async () => {
				order.push("begin other");
			});
			open();
			await Promise.all([first, second]);
			console.log(`order: ${order.join(",")}`);
			const failed = withFileMutationQueue(file, async () => {
				throw new Error("on purpose");
			});
			const next = withFileMutationQueue(file, async () => "ran");
			await failed.catch(() => undefined);
			console.log(`after a failure: ${await next}`);
		},
	});
}
