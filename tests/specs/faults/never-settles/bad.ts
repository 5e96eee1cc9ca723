export default function (pi: any) {
	pi.on("tool_call", (event: any) => {
		if (event.input.never) return new Promise(() => {});
		return undefined;
	});
}
