export default function (pi: any) {
	let command: any;
	pi.registerCommand("keep", {
		description: "Keeps a context that can control sessions",
		handler: async (_args: string, ctx: any) => {
			command = ctx;
		},
	});
	pi.on("tool_call", async () => {
		try {
			await command.newSession();
			console.log("was let through");
		} catch (error) {
			console.log(`refused: ${(error as Error).message}`);
		}
	});
}
