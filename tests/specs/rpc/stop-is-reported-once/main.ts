export default function (pi: any) {
	pi.registerCommand("loop", {
		description: "never returns",
		handler: async () => {
			let n = 0;
			for (;;) n++;
		},
	});
}
