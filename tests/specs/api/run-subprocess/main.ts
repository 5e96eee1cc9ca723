import { runSubprocess } from "@oh-my-pi/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: any) {
	pi.on("before_agent_start", (event: any) => {
		if (event.prompt.startsWith("look")) console.log(`prompt ${event.systemPrompt.match(/You review code\./)?.[0]}`);
	});
	pi.registerTool({
		name: "delegate",
		label: "Delegate",
		description: "Gives tasks to agents",
		parameters: Type.Object({}),
		async execute(_id: string, _params: any, _signal: any, _onUpdate: any, ctx: any) {
			const agent = { name: "reviewer", systemPrompt: "You review code.", tools: ["read"] };
			const run = (options: any) => runSubprocess({ cwd: ctx.cwd, agent, index: 0, ...options });
			const seen: any[] = [];
			const good = await run({
				context: "look",
				task: '@tool read {"path":"main.ts","limit":1}',
				onProgress: (progress: any) => seen.push(progress),
			});
			const { exitCode, id, agentSource, resolvedModel, output, stderr, requests } = good;
			const tools = seen.at(-1).toolCount;
			console.log(`good ${exitCode} ${good.agent} ${agentSource} ${id} ${resolvedModel} output=${JSON.stringify(output)} stderr=${stderr} tools=${tools} requests=${requests}`);
			const had = (status: string) => (seen.some((progress) => progress.status === status) ? "yes" : "no");
			const tool = seen.find((progress) => progress.currentTool !== undefined)?.currentTool;
			console.log(`progress pending:${had("pending")} running:${had("running")} tool:${tool} completed:${had("completed")}`);
			console.log(`tools ${seen.at(-1).recentTools.map((done: any) => done.tool)}`);
			const other = await run({ task: "hello", modelOverride: ["nobody/nothing"] });
			console.log(`unknown model fallback=${other.resolvedModelIsFallback}`);
			const slow = '@delay 200\n@text a very long text that takes its time to arrive';
			const limit = await run({ task: slow, maxRuntimeMs: 50 });
			console.log(`limit ${limit.exitCode} aborted=${limit.aborted} ${limit.abortReason}`);
			const controller = new AbortController();
			const aborting = run({ task: slow, signal: controller.signal, onProgress: () => controller.abort() });
			const aborted = await aborting;
			console.log(`signal ${aborted.exitCode} aborted=${aborted.aborted} ${aborted.abortReason}`);
			const failed = await run({ task: "@error broken by the test" });
			console.log(`failed ${failed.exitCode} aborted=${failed.aborted} ${failed.stderr}`);
			await runSubprocess({ task: "no agent" } as any).catch((error: Error) => console.log(`refused ${error.message}`));
			return { content: [{ type: "text", text: "done" }], details: {} };
		},
	});
}
