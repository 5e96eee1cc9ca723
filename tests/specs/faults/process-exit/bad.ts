export default function (pi: any) {
	pi.registerCommand("leave", {
		description: "Tries to leave",
		handler: async () => {
			process.exit(3);
		},
	});
}
