export default function (pi: any) {
	pi.registerCommand("fail", {
		description: "throws",
		handler: async () => {
			throw new Error("on purpose");
		},
	});
}
