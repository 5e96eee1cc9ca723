export default function (pi: any) {
	pi.registerCommand("odd", {
		description: "Leaves a rejected promise",
		handler: async () => {
			Promise.reject(Symbol("odd"));
			await new Promise((resolve) => setTimeout(resolve, 20));
		},
	});
	pi.registerCommand("throw", {
		description: "Throws a symbol",
		handler: async () => {
			throw Symbol();
		},
	});
}
