export default function (pi: any) {
	let running = 0;
	let most = 0;
	let row = false;
	let arrived: (() => void) | undefined;
	const run = async () => {
		running++;
		most = Math.max(most, running);
		// Side by side, each call ends only when the other one is there as well: run one after another they would never end.
		if (!row) {
			if (running === 2) arrived?.();
			else await new Promise<void>((resolve) => (arrived = resolve));
		} else await new Promise((resolve) => setTimeout(resolve, 20));
		const text = `at once ${most}`;
		running--;
		return { content: [{ type: "text", text }], details: {} };
	};
	const parameters = { type: "object", properties: {} };
	pi.registerTool({ name: "meet", label: "Meet", description: "Meets", parameters, execute: run });
	pi.registerTool({ name: "alone", label: "Alone", description: "Alone", parameters, executionMode: "sequential", execute: run });
	pi.on("before_agent_start", (event: any) => {
		row = event.prompt.startsWith("in a row");
		most = 0;
	});
	pi.on("agent_end", () => {
		console.log(`${row ? "in a row" : "side by side"}: most at once ${most}`);
	});
}
