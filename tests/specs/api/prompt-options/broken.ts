export default function (pi: any) {
	let first = true;
	pi.on("before_agent_start", (event: any) => {
		if (first) event.systemPromptOptions.sections["Not A Tag"] = "x";
		first = false;
	});
}
