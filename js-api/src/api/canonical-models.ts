// xcsh's canonical models (sdk-exports §2.4): several providers may offer a model under the same id; without a provider the id means all of
// them. Pure functions over lists of models.

import type { ModelInfo } from "./protocol.ts";

export interface CanonicalModel {
	id: string;
	name: string;
	/** One for each provider, in the order of the list. */
	variants: { canonicalId: string; selector: string; model: ModelInfo }[];
}

/** An id without the vendor that some providers put before it, in lower case. */
function canonicalId(id: string): string {
	return id.slice(id.lastIndexOf("/") + 1).toLowerCase();
}

export function canonicalModels(models: readonly ModelInfo[]): CanonicalModel[] {
	const byId = new Map<string, CanonicalModel>();
	for (const model of models) {
		const id = canonicalId(model.id);
		let known = byId.get(id);
		if (known === undefined) {
			known = { id, name: String(model.name ?? id), variants: [] };
			byId.set(id, known);
		}
		known.variants.push({ canonicalId: id, selector: `${model.provider}/${model.id}`, model });
	}
	return [...byId.values()];
}

export function resolveCanonical(id: string, models: readonly ModelInfo[]): ModelInfo | undefined {
	const wanted = canonicalId(String(id));
	return models.find((model) => canonicalId(model.id) === wanted);
}
