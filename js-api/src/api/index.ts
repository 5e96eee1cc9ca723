// What the rest of `js-api` may use of the extension API: the host modules build the coding-agent facade from these.

export {
	CallRevokedError,
	ExtensionNotActiveError,
	ExtensionRuntimeNotInitializedError,
	InvalidFactoryError,
	StaleExtensionError,
	UnsupportedUiError,
} from "./errors.ts";
export { MessageEventStream } from "./event-stream.ts";
export { startApi } from "./handler.ts";
export { createLogger, type Logger, NO_EXTENSION } from "./logger.ts";
export { currentModelRegistry, ModelRegistry } from "./model-registry.ts";
export { currentRuntime, Runtime, setNamespaces, useRuntime } from "./runtime.ts";
export { buildContextEntries, buildProjection } from "./session-context.ts";
export { SessionManagerView, SetupSessionManager } from "./session-manager.ts";
export { currentTheme, namedTheme, setCurrentTheme, Theme, themeNames } from "./theme.ts";
export { PALETTES, type Palette } from "./theme-palette.ts";
export type { Namespaces } from "./types.ts";
