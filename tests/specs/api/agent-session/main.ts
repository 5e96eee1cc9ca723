import { createAgentSession, SessionManager } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: any) {
	pi.registerTool({
		name: "delegate",
		label: "Delegate",
		description: "Gives a task to another session",
		parameters: Type.Object({ task: Type.String() }),
		async execute(_id: string, params: any, _signal: any, _onUpdate: any, outer: any) {
			const updates: string[] = [];
			let inner: any;
			const { session } = await createAgentSession({
				sessionManager: SessionManager.inMemory(outer.cwd),
				tools: ["read", "lookup"],
				customTools: [
					{
						name: "lookup",
						label: "Look up",
						description: "Knows the answer",
						parameters: Type.Object({ key: Type.String() }),
						async execute(_id: string, { key }: any, _signal: any, onUpdate: any, ctx: any) {
							inner = ctx;
							onUpdate({ content: [{ type: "text", text: "halfway" }] });
							return { content: [{ type: "text", text: `${key} is 42` }], details: {} };
						},
					} as any,
				],
			});
			const types: string[] = [];
			let deltas = "";
			session.subscribe((event: any) => {
				if (event.type === "tool_execution_update") updates.push(event.partialResult.content[0].text);
				if (event.type !== "message_update") {
					types.push(event.type);
					return;
				}
				const change = event.assistantMessageEvent;
				if (change.type === "text_delta") deltas += change.delta;
				if (change.partial !== event.message) throw new Error("partial is not the message");
			});
			await session.prompt(params.task);
			console.log(`types ${types.filter((type) => type !== "entry_appended").join(",")}`);
			console.log(`deltas ${deltas}`);
			console.log(`updates ${updates.join(",")}, then done`);
			console.log(`roles ${session.messages.map((message: any) => message.role).join(",")}`);
			console.log(`tools ${session.getActiveToolNames()} of ${session.getAllTools().map((tool: any) => tool.name)}`);
			const users = session.sessionManager.getEntries().filter((entry: any) => entry.message?.role === "user").length;
			const same = inner.sessionManager === session.sessionManager && inner.sessionManager.getSessionId() === session.sessionId;
			console.log(`manager ${users} user, file=${session.sessionFile}, same=${same}`);
			const text = session.getLastAssistantText() ?? "";
			await session.dispose();
			await session.prompt("again").catch((error: Error) => console.log(`disposed: ${error.message}`));
			return { content: [{ type: "text", text: `child said: ${text}` }], details: {} };
		},
	});
}
