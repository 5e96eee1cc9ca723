import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.on("before_provider_headers", (event) => {
		console.log(`headers x-before=${event.headers["x-before"]}`);
		event.headers["x-added"] = "yes";
		event.headers["x-gone"] = null;
	});
	pi.on("before_provider_request", (event) => {
		console.log(`payload ${typeof event.payload}`);
		const text = JSON.stringify(event.payload).replaceAll('"go"', '"went"');
		return JSON.parse(text);
	});
	pi.on("after_provider_response", (event) => console.log(`response ${event.status} ${event.headers["x-served"]}`));
	pi.on("provider_stream_event", (event) =>
		console.log(`event ${event.provider} ${event.api} ${event.model} ${typeof event.data}`),
	);
}
