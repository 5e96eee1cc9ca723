export default function (pi: any) {
	pi.registerCommand("fill", {
		description: "Fills the heap",
		handler: async () => {
			const kept: unknown[] = [];
			for (;;) kept.push(new Array(1000).fill(kept.length));
		},
	});
}
