import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const server = process.env.PIER_TEST_SERVER;
const model = (id: string) => ({
	id,
	name: id,
	reasoning: false,
	input: ["text"] as ("text" | "image")[],
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
	contextWindow: 100000,
	maxTokens: 1000,
});

export default function (pi: ExtensionAPI) {
	let mode = "good";
	const login = (name: string, prefix: string) => ({
		name,
		login: async () => ({ refresh: "r", access: "a", expires: 0 }),
		refreshToken: async () => ({ refresh: "r2", access: "t2", tenant: "tenant-new", expires: Date.now() + 3_600_000 }),
		getApiKey: (credentials: any) => `token-${credentials.access}`,
		modifyModels: (models: any[], credentials: any) => {
			if (mode === "broken") throw new Error("no models today");
			if (mode === "nonsense") return [{ ...models[0], provider: "other" }];
			return models.map((known) => ({ ...known, baseUrl: `${server}/${prefix}${credentials.tenant}` }));
		},
	});
	pi.registerProvider("club", {
		baseUrl: `${server}/v1`,
		api: "openai-completions",
		oauth: login("Club", ""),
		models: [model("m1"), model("m2")],
	});
	pi.registerCommand("show", {
		handler: async (args, ctx) => {
			const [what, provider = "club"] = args.split(" ");
			const models = ctx.modelRegistry.getAll().filter((known) => known.provider === provider);
			const session = ctx.model?.baseUrl === models[0].baseUrl || provider !== "club" ? "" : ` but the session uses ${ctx.model?.baseUrl}`;
			console.log(`${what}: ${models[0].baseUrl} ${models.length} models${session}`);
		},
	});
	pi.registerCommand("mode", {
		handler: async (args, ctx) => {
			mode = args;
			await ctx.modelRegistry.refresh();
		},
	});
	pi.registerCommand("late", {
		handler: async (_args, ctx) => {
			const file = join(process.env.PI_CODING_AGENT_DIR ?? "", "auth.json");
			const stored = JSON.parse(readFileSync(file, "utf8"));
			writeFileSync(file, JSON.stringify({ ...stored, late: stored.club }));
			pi.registerProvider("late", {
				baseUrl: `${server}/v1`,
				api: "openai-completions",
				oauth: login("Late", "late-"),
				models: [model("m")],
			});
			await ctx.modelRegistry.refresh();
		},
	});
	pi.registerCommand("logout", {
		handler: async (_args, ctx) => {
			writeFileSync(join(process.env.PI_CODING_AGENT_DIR ?? "", "auth.json"), "{}");
			await ctx.modelRegistry.refresh();
		},
	});
}
