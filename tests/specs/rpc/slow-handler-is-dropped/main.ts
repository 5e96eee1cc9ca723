export default function (pi: any) {
	pi.on("turn_start", () => new Promise(() => {}));
	pi.on("tool_call", () => new Promise(() => {}));
}
