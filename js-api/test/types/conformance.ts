// Checked by the compiler only (`npm run check`): the published types describe what there is.

import type { createExtensionApi } from "../../src/api/extension-api.ts";
import type * as actual from "../../src/host-modules/coding-agent/index.ts";
import type * as declared from "../../types/index.js";
import type { ExtensionAPI, ExtensionFactory, ToolDefinition } from "../../types/index.js";

/** Names that are declared as values; the compiler refuses this when one of them does not exist. */
type DeclaredValues = keyof typeof declared;
type MissingValues = Exclude<DeclaredValues, keyof typeof actual>;
export const everyDeclaredValueExists: MissingValues extends never ? true : MissingValues = true;

/** The signatures agree, one by one, so that an error names the culprit. */
type Differing = {
	[Name in DeclaredValues & keyof typeof actual]: (typeof actual)[Name] extends (typeof declared)[Name] ? never : Name;
}[DeclaredValues & keyof typeof actual];
export const everySignatureAgrees: [Differing] extends [never] ? true : Differing = true;

type MissingMembers = Exclude<keyof ExtensionAPI, keyof ReturnType<typeof createExtensionApi>>;
export const everyMemberExists: [MissingMembers] extends [never] ? true : MissingMembers = true;

/** An extension as authors write it. */
const factory: ExtensionFactory = (pi) => {
	const off = pi.on("tool_call", async (event, ctx) => {
		if (event.toolName === "bash" && String(event.input.command).includes("rm -rf")) {
			const sure = await ctx.ui.confirm("Dangerous", event.input.command, { timeout: 5000 });
			if (!sure) return { block: true, reason: "Blocked by the user" };
		}
		return undefined;
	});
	pi.on("session_start", (_event, ctx) => ctx.ui.setStatus("demo", `${ctx.cwd} ${ctx.model?.id ?? ""}`));
	pi.on("something_of_the_future", (event) => event);
	pi.registerCommand("stop", { handler: async (args, ctx) => ctx.ui.notify(args) });
	pi.registerTool({
		name: "greet",
		description: "Greets",
		parameters: {} as { static: { name: string } },
		execute: async (_id, params, signal, onUpdate, ctx) => {
			onUpdate?.({ content: [] });
			return { content: [{ type: "text", text: `Hello ${params.name.trim()} ${signal?.aborted} ${ctx.cwd}` }] };
		},
		renderCall: (args, theme) => ({ render: () => [theme.fg("accent", args.name)], invalidate() {} }),
	});
	off();
};

// @ts-expect-error a tool needs a description
export const incomplete: ToolDefinition = { name: "x", parameters: {}, execute: async () => ({ content: [] }) };

export default factory;
