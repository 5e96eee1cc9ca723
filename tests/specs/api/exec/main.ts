export default function (pi: any) {
	pi.registerCommand("run", {
		description: "Runs programs",
		handler: async (_args: string, ctx: any) => {
			const plain = await pi.exec("printf", ["%s|%s", "a b", "$HOME"]);
			const failed = await pi.exec("sh", ["-c", "exit 3"]);
			const start = Date.now();
			const slow = await pi.exec("sleep", ["30"], { timeout: 100 });
			const missing = await pi.exec("no-such-program-here", []).then(
				(result: any) => result.code !== 0,
				() => true,
			);
			const cwd = (await pi.exec("pwd", [])).stdout.trim() === ctx.cwd;
			console.log(JSON.stringify({ out: plain.stdout, code: failed.code, slow: slow.killed && Date.now() - start < 20000, missing, cwd }));
		},
	});
}
