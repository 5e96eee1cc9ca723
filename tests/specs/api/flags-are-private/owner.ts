export default function (pi: any) {
	pi.registerFlag("mine", { description: "A text", type: "string" });
	pi.registerFlag("loud", { description: "A switch", type: "boolean", default: false });
	pi.registerFlag("unset", { description: "Not given", type: "string", default: "fallback" });
	pi.on("session_start", () => console.log(`owner: ${pi.getFlag("mine")} ${pi.getFlag("loud")} ${pi.getFlag("unset")}`));
}
