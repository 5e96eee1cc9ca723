export default function (pi: any) {
	pi.on("session_shutdown", () => new Promise(() => {}));
}
