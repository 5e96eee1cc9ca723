import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const nothing = async function* () {};
const wrong: any[] = [
	{ streamSimple: nothing },
	{ models: [{ id: "m" }] },
	{ baseUrl: "http://x", models: [{ id: "m" }] },
	{ baseUrl: "http://x", apiKey: "k", models: [{ id: "m" }] },
	{ streamSimple: nothing, api: "anthropic-messages" },
	{ baseUrl: "http://x", apiKey: "k", api: "a", models: [{}] },
];

export default function (pi: ExtensionAPI) {
	pi.registerCommand("try", {
		handler: async () => {
			for (const [index, config] of wrong.entries()) {
				try {
					pi.registerProvider("p", config);
					console.log(`${index + 1} was accepted`);
				} catch (error) {
					console.log(`${index + 1} ${(error as Error).message}`);
				}
			}
		},
	});
}
