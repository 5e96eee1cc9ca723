import {
	createBashTool,
	createCodingTools,
	createEditTool,
	createFindTool,
	createGrepTool,
	createLsTool,
	createReadTool,
	createReadToolDefinition,
	createWriteTool,
} from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

const text = (result: any) => result.content.map((block: any) => block.text).join("");
const shown = (result: any) => JSON.stringify(text(result)).slice(1, -1);

export default function (pi: any) {
	const { cwd } = process;
	const definition = createReadToolDefinition(cwd()) as any;
	pi.registerTool({
		...definition,
		async execute(...args: any[]) {
			const result = await definition.execute(...args);
			return { ...result, content: [{ type: "text", text: `[wrapped] ${text(result)}` }] };
		},
	});
	pi.registerTool({
		name: "check",
		label: "Check",
		description: "Runs the tools of the SDK",
		parameters: Type.Object({}),
		async execute(_id: string, _params: any, _signal: any, _onUpdate: any, ctx: any) {
			let updates = 0;
			const bash = createBashTool("/remote", {
				operations: {
					async exec(command: string, where: string, { onData }: any) {
						onData(Buffer.from(`ran [${command}] in ${where} with PI|`));
						onData(Buffer.from("7"));
						return { exitCode: 3 };
					},
				},
			} as any);
			const outcome: any = await bash
				.execute("1", { command: "echo hi" } as any, undefined, () => updates++)
				.catch((error: Error) => ({ content: [{ text: error.message }], isError: true }));
			console.log(`bash: ${shown(outcome)} error=${outcome.isError}`);
			console.log(`updates: ${updates > 0 ? "yes" : "no"}`);
			const run = async (tool: any, params: object) => shown(await tool.execute("2", params));
			console.log(`read: ${await run(createReadTool(ctx.cwd), { path: "a.txt" })}`);
			console.log(`write: ${await run(createWriteTool(ctx.cwd), { path: "b.txt", content: "three\n" })}`);
			const edits = [{ oldText: "three", newText: "THREE" }];
			console.log(`edit: ${await run(createEditTool(ctx.cwd), { path: "b.txt", edits })}`);
			console.log(`grep: ${await run(createGrepTool(ctx.cwd), { pattern: "THREE", glob: "*.txt" })}`);
			const found = await createFindTool(ctx.cwd).execute("3", { pattern: "*.txt" } as any);
			console.log(`find: ${text(found).split("\n").sort().join(",")}`);
			console.log(`ls: ${await run(createLsTool(ctx.cwd), {})}`);
			const remote = createReadTool(ctx.cwd, {
				operations: { readFile: async () => Buffer.from("from afar"), access: async () => undefined },
			} as any);
			console.log(`remote read: ${await run(remote, { path: "/nowhere.txt" })}`);
			console.log(`coding: ${createCodingTools(ctx.cwd).map((tool: any) => tool.name)}`);
			return { content: [{ type: "text", text: "done" }], details: {} };
		},
	});
}
