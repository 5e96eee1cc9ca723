import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerProvider("club", {
		baseUrl: `${process.env.PIER_TEST_SERVER}/v1`,
		api: "openai-completions",
		oauth: {
			name: "Club",
			login: async () => ({ refresh: "r", access: "a", expires: 0 }),
			refreshToken: async (credentials) => {
				if (credentials.refresh !== "r1") throw new Error(`unexpected ${credentials.refresh}`);
				return { refresh: "r2", access: "new-token", expires: Date.now() + 3_600_000 };
			},
			getApiKey: (credentials) => `token-${credentials.access}`,
		},
		models: [
			{
				id: "m1",
				name: "M1",
				reasoning: false,
				input: ["text"],
				cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
				contextWindow: 100000,
				maxTokens: 1000,
			},
		],
	});
	pi.on("agent_end", () => {
		const { mode } = statSync(join(process.env.PI_CODING_AGENT_DIR ?? "", "auth.json"));
		writeFileSync("mode.txt", (mode & 0o777).toString(8));
	});
}
