export default function (pi: any) {
	pi.on("session_start", () => console.log(`other: ${pi.getFlag("mine")}`));
}
