import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerProvider("anthropic", {
		baseUrl: `${process.env.PIER_TEST_SERVER}/gate`,
		headers: { "x-gate": "${GATE}" },
	});
}
