import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const local = (url: string, models: unknown[]) => ({
	baseUrl: `http://127.0.0.1:9/${url}`,
	api: "openai-completions",
	apiKey: "k",
	models,
});

const files: Record<string, unknown> = {
	start: { local: local("a", [{ id: "one" }]) },
	added: { local: local("b", [{ id: "one" }, { id: "two" }]), shop: { baseUrl: "http://127.0.0.1:9/moved" } },
	wrong: { local: local("c", [{ name: "no id" }]) },
};

export default function (pi: ExtensionAPI) {
	pi.registerProvider("shop", {
		baseUrl: "http://127.0.0.1:9/s",
		api: "openai-completions",
		apiKey: "k",
		models: [
			{
				id: "s",
				name: "S",
				reasoning: false,
				input: ["text"],
				cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
				contextWindow: 1000,
				maxTokens: 100,
			},
		],
	});
	const write = (name: string) => {
		const file = join(process.env.PI_CODING_AGENT_DIR ?? "", "models.json");
		if (files[name] === undefined) rmSync(file);
		else writeFileSync(file, JSON.stringify({ providers: files[name] }));
	};
	pi.registerCommand("show", {
		handler: async (args, ctx) => {
			const models = ctx.modelRegistry.getAll().filter((model) => ["local", "shop"].includes(model.provider));
			const list = models.map((model) => `${model.provider}/${model.id}@${model.baseUrl}`).sort().join(" ");
			console.log(`${args}: ${list}; session ${ctx.model?.baseUrl}; error ${(ctx.modelRegistry as any).getError()}`);
		},
	});
	pi.registerCommand("use", {
		handler: async (args, ctx) => {
			write(args);
			await ctx.modelRegistry.refresh();
		},
	});
	pi.registerCommand("again", {
		handler: (_args, ctx) => {
			write("start");
			return ctx.reload();
		},
	});
}
