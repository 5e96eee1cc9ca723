export default function (pi: any) {
	pi.registerCommand("arm", {
		description: "Arms the timer and waits until it has fired",
		handler: async () => {
			await new Promise<void>((resolve) => {
				setTimeout(() => {
					throw new Error("timer went wrong");
				}, 5);
				setTimeout(resolve, 60);
			});
		},
	});
}
