// Built host modules that the core imports by the name under which the engine serves them to extensions.

declare module "node:pier/modules/*" {
	const module: Record<string, unknown>;
	export = module;
}
