import type {} from "@f5-sales-demo/xcsh";

export default function (pi: any) {
	const seen: string[] = [];
	for (const name of ["session_before_switch", "session_switch", "session_before_branch", "session_branch"]) {
		pi.on(name, (event: any) => {
			seen.push(`${event.type} ${event.reason ?? ""}`.trim());
			if (event.type === "session_before_branch") return { skipConversationRestore: true };
		});
	}
	pi.registerCommand("seen", { handler: async (_args: string, ctx: any) => ctx.ui.notify(seen.splice(0).join(", ")) });
}
