export default function (pi: any) {
	pi.registerCommand("fine", { description: "works", handler: async () => {} });
	pi.on("session_start", () => new Promise(() => {}));
}
