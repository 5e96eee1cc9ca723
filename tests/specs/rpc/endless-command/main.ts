export default function (pi: any) {
	pi.registerCommand("loop", {
		description: "never returns",
		handler: async () => {
			for (;;) {}
		},
	});
}
