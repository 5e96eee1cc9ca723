export default function (pi: any) {
	pi.registerCommand("send", { description: "Sends a message into a run without saying how", handler: async () => pi.sendUserMessage("hello") });
}
