import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.on("message_update", (event) => {
		const update = event.assistantMessageEvent;
		if (!("partial" in update) || event.message.role !== "assistant") throw new Error("not the message so far");
		const { role, content } = update.partial;
		const same = update.partial === event.message;
		if (update.type === "text_end") console.log(`text ${role} ${same} ${JSON.stringify(content)}`);
		const last = content.at(-1);
		if (update.type === "toolcall_end" && last?.type === "toolCall") console.log(`call ${role} ${same} ${last.name}`);
	});
}
