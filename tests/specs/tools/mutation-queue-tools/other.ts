import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withFileMutationQueue } from "@earendil-works/pi-coding-agent";

export default function (pi: any) {
	pi.registerTool({
		name: "other",
		label: "Other",
		description: "Adds to the file",
		parameters: { type: "object", properties: {} },
		async execute(_id: string, _params: any, _signal: any, _update: any, ctx: any) {
			const file = join(ctx.cwd, "a.txt");
			await withFileMutationQueue(file, async () => writeFileSync(file, `${readFileSync(file, "utf8")} by other`));
			return { content: [{ type: "text", text: "done" }], details: {} };
		},
	});
}
