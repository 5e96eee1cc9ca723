export default function (pi: any) {
	pi.on("message_update", () => new Promise(() => {}));
}
