/** Keeps the time between the end of a run and its settlement open. */
export default function (pi: any) {
	pi.on("agent_before_settle", () => new Promise((resolve) => setTimeout(resolve, 400)));
}
