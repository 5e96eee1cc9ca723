/** What the load tests ask of an extension. */
export default function (pi: any) {
	const held: (() => void)[] = [];
	pi.registerCommand("hold", {
		description: "Ends with /release; the last of that many says that all are there",
		handler: async (count: string, ctx: any) => {
			const released = new Promise<void>((resolve) => held.push(resolve));
			if (held.length === Number(count)) ctx.ui.notify("all are here", "info");
			await released;
		},
	});
	pi.registerCommand("release", {
		description: "Ends all of /hold",
		handler: async () => {
			for (const resolve of held.splice(0)) resolve();
		},
	});
	pi.registerCommand("dialogs", {
		description: "Opens that many dialogs at once and says how many were answered as they should be",
		handler: async (count: string, ctx: any) => {
			const answers = await Promise.all(
				Array.from({ length: Number(count) }, (_, n) => ctx.ui.input(`question ${n}`).then((answer: string) => answer === `question ${n}`)),
			);
			ctx.ui.notify(`right: ${answers.filter(Boolean).length}`, "info");
		},
	});
	pi.registerCommand("round-trips", {
		description: "Opens that many dialogs one after the other and tells how long each took, in milliseconds",
		handler: async (count: string, ctx: any) => {
			const took: number[] = [];
			for (let n = 0; n < Number(count); n++) {
				const start = performance.now();
				await ctx.ui.input(`question ${n}`);
				took.push(performance.now() - start);
			}
			took.sort((a, b) => a - b);
			ctx.ui.notify(JSON.stringify({ p50: took[took.length >> 1], p99: took[Math.floor(took.length * 0.99)] }), "info");
		},
	});
	pi.registerTool({
		name: "stream",
		description: "Streams that many pieces of 100 kB",
		parameters: { type: "object", properties: { pieces: { type: "number" } }, required: ["pieces"] },
		async execute(_id: string, { pieces }: { pieces: number }, _signal: unknown, onUpdate: (partial: unknown) => void) {
			for (let n = 0; n < pieces; n++) {
				onUpdate({ content: [{ type: "text", text: String(n % 10).repeat(100_000) }], details: { n } });
				await new Promise((resolve) => setTimeout(resolve, 0));
			}
			return { content: [{ type: "text", text: "all of it" }], details: { n: pieces } };
		},
	});
}
