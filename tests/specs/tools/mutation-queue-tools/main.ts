import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createEditTool, withFileMutationQueue } from "@earendil-works/pi-coding-agent";

const change = (oldText: string, newText: string) => ({ path: "a.txt", edits: [{ oldText, newText }] });

export default function (pi: any) {
	pi.registerTool({
		name: "hold",
		label: "Hold",
		description: "Holds a file",
		parameters: { type: "object", properties: {} },
		async execute(_id: string, _params: any, _signal: any, _update: any, ctx: any) {
			const file = join(ctx.cwd, "a.txt");
			const text = () => readFileSync(file, "utf8");
			const ways: Record<string, (oldText: string, newText: string) => Promise<any>> = {
				"ctx.executeTool": async (oldText, newText) => {
					const { isError, result } = await ctx.executeTool("edit", change(oldText, newText));
					if (isError) throw new Error(JSON.stringify(result));
				},
				createEditTool: (oldText, newText) => createEditTool(ctx.cwd).execute("1", change(oldText, newText)),
				"another extension": async () => {
					const { isError, result } = await ctx.executeTool("other", {});
					if (isError) throw new Error(JSON.stringify(result));
				},
			};
			for (const [name, way] of Object.entries(ways)) {
				writeFileSync(file, "start");
				const order: string[] = [];
				let changing: Promise<unknown> = Promise.resolve();
				let open = () => {};
				const gate = new Promise<void>((resolve) => (open = resolve));
				const held = withFileMutationQueue(file, async () => {
					const before = text();
					await gate;
					writeFileSync(file, `${before} and more`);
					order.push("held");
				});
				changing = way("start", "EDITED").then(() => order.push("tool"));
				// Work on another file takes its time and does not wait.
				await ctx.executeTool("write", { path: "b.txt", content: "b" });
				open();
				await Promise.all([held, changing]);
				console.log(`${name}: ${order.join(" ")} | ${text()}`);
			}
			const inside = async (name: string, work: () => Promise<unknown>) => {
				writeFileSync(file, "start");
				await withFileMutationQueue(file, work);
				console.log(`inside, ${name}: ok | ${text()}`);
			};
			for (const [name, way] of Object.entries(ways)) await inside(name, () => way("start", "EDITED"));
			await inside("twice at once", async () => {
				writeFileSync(file, "start, more");
				const [edit] = Object.values(ways);
				await Promise.all([edit("start", "EDITED"), edit("more", "MORE")]);
			});
			await inside("once more", () => withFileMutationQueue(file, async () => writeFileSync(file, "again")));
			writeFileSync(file, "start");
			await withFileMutationQueue(file, async () => {
				throw new Error("on purpose");
			}).catch(() => undefined);
			await ways["ctx.executeTool"]("start", "EDITED");
			console.log(`after a failure: ok | ${text()}`);
			return { content: [{ type: "text", text: "done" }], details: {} };
		},
	});
}
