export default function (pi: any) {
	pi.on("sessionStart", () => {});
	pi.on("agent_start", () => {});
}
