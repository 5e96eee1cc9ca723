export default function (pi: any) {
	pi.on("session_before_switch", async () => ({ cancel: true }));
}
