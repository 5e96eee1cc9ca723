import type {} from "@f5-sales-demo/xcsh";

export default function (pi: any) {
	pi.on("turn_start", () => pi.sendUserMessage("lost"));
	pi.on("before_agent_start", () => ({ message: { customType: "xcsh-start", content: "c", display: true } }));
	pi.registerCommand("say", {
		handler: async () => {
			pi.sendMessage({ customType: "xcsh", content: "c", display: true });
			pi.sendMessage({ customType: "xcsh-own", content: "c", display: true, attribution: "user" });
		},
	});
}
