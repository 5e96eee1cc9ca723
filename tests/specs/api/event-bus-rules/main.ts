export default function (pi: any) {
	let called = 0;
	let back = 0;
	pi.events.on("channel", () => {
		throw new Error("listener failed");
	});
	const stop = pi.events.on("channel", (data: any) => {
		called++;
		back = data.compute?.(3) ?? back;
	});
	pi.registerCommand("go", {
		description: "Emits",
		handler: async () => {
			pi.events.emit("channel", { n: 41, compute: (x: number) => x + 4 });
			stop();
			pi.events.emit("channel", { n: 42 });
			console.log(`main: after, called ${called}, back ${back}`);
			await new Promise((resolve) => setTimeout(resolve, 100));
		},
	});
}
