// Exports of the real packages that this host does not have. Each exists, so that modules link, and fails with a clear error when used.

/** Thrown by an export that exists by name only. */
export class NotAvailableError extends Error {
	override readonly name = "NotAvailableError";
	/** Name of the export. */
	readonly feature: string;

	constructor(feature: string, detail: string) {
		super(`"${feature}" is not available in this host: ${detail}`);
		this.feature = feature;
	}
}

const SERVICES = "use createAgentSession";
const INTERACTIVE = "the host draws its own interface";
const INTERNAL = "it belongs to another program's internals";

// biome-ignore lint/suspicious/noExplicitAny: callers compile against the real packages' types.
type AnyFunction = (...args: any[]) => any;

/** A function that throws, and that as a class throws when constructed. */
function missing(feature: string, detail: string): AnyFunction & (new (...args: unknown[]) => never) {
	function unavailable(): never {
		throw new NotAvailableError(feature, detail);
	}
	Object.defineProperty(unavailable, "name", { value: feature });
	return unavailable as unknown as AnyFunction & (new (...args: unknown[]) => never);
}

/** The same for functions that return promises: the error is a rejection. */
function missingAsync(feature: string, detail: string): (...args: unknown[]) => Promise<never> {
	const fail = async (): Promise<never> => {
		throw new NotAvailableError(feature, detail);
	};
	Object.defineProperty(fail, "name", { value: feature });
	return fail;
}

export const createAgentSessionFromServices = missingAsync("createAgentSessionFromServices", SERVICES);
export const createAgentSessionRuntime = missingAsync("createAgentSessionRuntime", SERVICES);
export const createAgentSessionServices = missingAsync("createAgentSessionServices", SERVICES);
export const discoverAndLoadExtensions = missingAsync("discoverAndLoadExtensions", "extensions are loaded by the host");
export const main = missingAsync("main", INTERNAL);
export const runPrintMode = missingAsync("runPrintMode", INTERACTIVE);
export const runRpcMode = missingAsync("runRpcMode", INTERACTIVE);

export const AgentSessionRuntime = missing("AgentSessionRuntime", SERVICES);
export const ExtensionRunner = missing("ExtensionRunner", "extensions are run by the host");
export const InteractiveMode = missing("InteractiveMode", INTERACTIVE);
export const RpcClient = missing("RpcClient", INTERACTIVE);
export const DefaultPackageManager = missing("DefaultPackageManager", "packages are managed by the host");
export const ModelRuntime = missing("ModelRuntime", "use ctx.modelRegistry");
export const createExtensionRuntime = missing("createExtensionRuntime", "extensions are run by the host");
