import * as pi from "@earendil-works/pi-coding-agent";
import * as xcsh from "@f5-sales-demo/xcsh";
import { serializeConversation } from "@oh-my-pi/pi-coding-agent";

export default function () {
	const messages: any[] = [
		{
			role: "assistant",
			content: [
				{ type: "thinking", thinking: "hmm" },
				{ type: "text", text: "text" },
			],
		},
	];
	const [a, b, c] = [pi, { serializeConversation }, xcsh as typeof pi].map((module) =>
		JSON.stringify(module.serializeConversation(messages)),
	);
	console.log(`pi ${a} omp ${b} xcsh ${c} same ${(xcsh as typeof pi).SessionManager === pi.SessionManager}`);
}
