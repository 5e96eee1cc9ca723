// The root of the `pi-ai` host module as extensions see it: the library's compatibility view, TypeBox's `Type`, a TypeBox-typed `StringEnum`,
// and the names under which oh-my-pi and xcsh export the same things (extension-api §1.6, sdk-exports §3).

import { registerLazyBedrockProvider } from "@earendil-works/pi-ai/lazy-bedrock-provider";
import { registerLazyOAuthFlows } from "@earendil-works/pi-ai/lazy-oauth";

// Without these the library would look for its own files beside the bundle.
registerLazyOAuthFlows();
registerLazyBedrockProvider();

export * from "@earendil-works/pi-ai/compat";
export {
	getModel as getBundledModel,
	getModels as getBundledModels,
	getProviders as getBundledProviders,
} from "@earendil-works/pi-ai/compat";
export { getBuiltinModel, getBuiltinModels, getBuiltinProviders } from "@earendil-works/pi-ai/providers/all";
export type { Static, TSchema } from "typebox";
export { Type } from "typebox";
export { Effort, getSupportedEfforts, registerCustomApi, unregisterCustomApis } from "./editions.ts";
export * from "./oauth.ts";
export { complete, completeSimple, stream, streamSimple } from "./requests.ts";
export { StringEnum } from "./string-enum.ts";
