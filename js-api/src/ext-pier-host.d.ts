// Types of the built-in module that the engine provides to an isolate. Only JSON text crosses; `host-native.ts` is its only importer.

declare module "ext:pier/host.js" {
	/** Synchronous call to the host. Throws an `Error` whose `name` is the host's error class. */
	export function hostCall(method: string, args: string): string | undefined;
	/** Asynchronous call to the host; same forms. */
	export function hostCallAsync(method: string, args: string): Promise<string | undefined>;
	/** Sets the function that receives every call from the host into this isolate. */
	export function setHandler(
		handler: (
			kind: string,
			header: string,
			payload: string | undefined,
		) => string | undefined | Promise<string | undefined>,
	): void;
	/** Imports a module through the isolate's loader, as the main module graph would. */
	export function importModule(specifier: string): Promise<Record<string, unknown>>;
}
