export default function (pi: any) {
	const provider = (name: string, apiKey: string) => ({
		baseUrl: `http://${name}`,
		apiKey,
		api: "openai-completions",
		authHeader: true,
		headers: { "X-A": "a", "X-B": "$REGISTRY_KEY" },
		models: [{ id: "m", name: "M", headers: { "X-Model": "m" } }],
	});
	pi.registerProvider("full", provider("full", "$REGISTRY_KEY"));
	pi.registerProvider("unset", provider("unset", "$NO_SUCH_VARIABLE"));
	pi.registerCommand("read", {
		handler: async (_args: string, ctx: any) => {
			const models = ctx.modelRegistry;
			const full = models.find("full", "m");
			const unset = models.find("unset", "m");
			console.log(`request: ${JSON.stringify(await models.getApiKeyAndHeaders(full))}`);
			console.log(`provider: ${JSON.stringify(await models.getProviderAuth("full"))}`);
			for (const model of [full, unset]) {
				const available = models.getAvailable().some((one: any) => one.provider === model.provider);
				console.log(
					`${model.provider}: configured=${models.hasConfiguredAuth(model)}` +
						` status=${models.getProviderAuthStatus(model.provider).configured}` +
						` available=${available} setModel=${await pi.setModel(model)}`,
				);
			}
			const refused = await models.getApiKeyAndHeaders(unset);
			console.log(`unset request: ${refused.ok} ${refused.error}`);
			console.log(`unset provider: ${await models.getProviderAuth(unset)}`);
			const later = provider("later", "k");
			models.registerProvider("later", { ...later, models: [{ id: "l", name: "Later" }] });
			const name = models.find("later", "l").name;
			models.unregisterProvider("later");
			console.log(`later: registered ${name}, then ${models.find("later", "l")}`);
			try {
				models.registerProvider("bad", { models: [{ id: "b" }] });
			} catch (error) {
				console.log(`refused: ${(error as Error).message}`);
			}
			models.registerVirtualModel({ provider: "full", id: "v", name: "V" });
			const choose = () => models.resolveCanonicalModel("m")?.provider;
			const found = models.getCanonicalModels().find((one: any) => one.id === "m");
			console.log(`canonical: ${found.variants.map((one: any) => one.selector)} -> ${choose()}/m`);
			models.suppressSelector("full/m", Date.now() + 60_000);
			console.log(`suppressed: ${choose()}`);
			console.log(`discoverable: ${JSON.stringify(models.getDiscoverableProviders())}`);
			for (const ask of ["classify", "generateImages"]) {
				const answer = await models[ask](full, {});
				console.log(`${ask}: ${answer.stopReason} ${JSON.stringify(answer.answers ?? answer.output)}`);
			}
			console.log(`error: ${models.getError()}`);
		},
	});
}
