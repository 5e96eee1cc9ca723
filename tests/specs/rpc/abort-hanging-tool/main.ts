export default function (pi: any) {
	let update: any;
	pi.registerTool({
		name: "hang",
		description: "Never ends",
		parameters: { type: "object", properties: {} },
		execute: async (_id: string, _params: any, _signal: any, onUpdate: any) => {
			update = onUpdate;
			onUpdate({ content: [{ type: "text", text: "begun" }] });
			await new Promise(() => {});
		},
	});
	pi.registerCommand("late", {
		description: "Sends an update of the tool that was given up",
		handler: async (_args: string, ctx: any) => {
			let said = "no error";
			try {
				update({ content: [{ type: "text", text: "too late" }] });
			} catch (error: any) {
				said = error.name;
			}
			ctx.ui.notify(`updated: ${said}`);
		},
	});
}
