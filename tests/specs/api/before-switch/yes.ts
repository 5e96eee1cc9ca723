export default function (pi: any) {
	pi.on("session_before_switch", async () => {
		console.log("yes was asked");
		return { cancel: false };
	});
}
