import type {} from "@f5-sales-demo/xcsh";

export default function (pi: any) {
	pi.on("tool_result", (event: any) => {
		console.log(`xcsh sees ${event.toolName} ${JSON.stringify(event.details)}`);
		return event.isError ? undefined : { details: null };
	});
}
