export default function (pi: any) {
	let first = true;
	pi.on("tool_call", async () => {
		if (!first) return;
		first = false;
		throw new Error("cannot decide");
	});
}
