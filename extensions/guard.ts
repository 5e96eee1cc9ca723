/**
 * Refuses shell commands that match a pattern. Where a person can be asked, asks first.
 *
 *   pier -e extensions/guard.ts --guard-pattern 'git push' -p "..."
 */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerFlag("guard-pattern", {
		description: "Regular expression of commands to refuse",
		type: "string",
		default: "\\brm\\s+-\\w*r",
	});

	pi.on("tool_call", async (event, ctx) => {
		if (event.toolName !== "bash") return undefined;
		const command = String(event.input.command);
		if (!new RegExp(String(pi.getFlag("guard-pattern"))).test(command)) return undefined;
		if (ctx.hasUI && (await ctx.ui.confirm("Run this?", command))) return undefined;
		return { block: true, reason: `guard: refused \`${command}\`` };
	});
}
