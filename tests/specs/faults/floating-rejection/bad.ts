export default function (pi: any) {
	pi.registerCommand("reject", {
		description: "Leaves a rejected promise behind",
		handler: async () => {
			void Promise.reject(new Error("nobody catches this"));
			await new Promise((resolve) => setTimeout(resolve, 50));
		},
	});
}
