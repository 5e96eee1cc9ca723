import { createBashTool } from "@earendil-works/pi-coding-agent";

export default function (pi: any) {
	const run = (name: string, options: object) =>
		pi.registerTool({
			name,
			label: name,
			description: name,
			parameters: { type: "object", properties: {} },
			execute: (id: string) => createBashTool(process.cwd(), options).execute(id, { command: 'echo "$SET ${PI_SESSION_ID:+session}"' }),
		});
	run("settings", {});
	run("options", { commandPrefix: "SET=by-options", exposeSessionEnvironment: false });
}
