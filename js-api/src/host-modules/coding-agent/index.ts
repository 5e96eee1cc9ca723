// The `coding-agent` host module: what extensions import from `@earendil-works/pi-coding-agent` and its other names, and the value of `pi.pi`.
// Names and behaviour: sdk-exports §2. What the real packages export and this does not is replaced by the engine with a value that throws
// when used; the names that fail on purpose are in `unavailable.ts`.

export { ExtensionRuntimeNotInitializedError } from "../../api/errors.ts";
export { ModelRegistry } from "../../api/model-registry.ts";
export { Theme } from "../../api/theme.ts";
export type { ColorMode, ThemeStyle } from "../../api/theme.ts";
export {
	AgentSession,
	type AgentSessionEvent,
	type AgentSessionEventListener,
	type PromptOptions,
} from "./agent-session/session.ts";
export {
	createAgentSession,
	type CreateAgentSessionOptions,
	type CreateAgentSessionResult,
} from "./agent-session/create.ts";
export {
	DefaultResourceLoader,
	type DefaultResourceLoaderOptions,
	type ResourceLoader,
} from "./agent-session/resource-loader.ts";
export {
	type AgentDefinition,
	type AgentProgress,
	type ExecutorOptions,
	runSubprocess,
	type SingleResult,
} from "./agent-session/run-subprocess.ts";
export { CONFIG_DIR_NAME, getAgentDir, VERSION } from "../host-info.ts";
export { StringEnum } from "../pi-ai/string-enum.ts";
export { Markdown } from "../pi-tui/markdown.ts";
export { logger } from "../logger.ts";
export * from "./compaction.ts";
export * from "./component-themes.ts";
export { BorderedLoader } from "./components/bordered-loader.ts";
export { CustomEditor, type CustomEditorOptions } from "./components/custom-editor.ts";
export { ExtensionEditorComponent, ExtensionInputComponent, ExtensionSelectorComponent } from "./components/dialogs.ts";
export { renderDiff } from "./components/diff.ts";
export { DynamicBorder } from "./components/dynamic-border.ts";
export { AssistantMessageComponent, CustomMessageComponent, UserMessageComponent } from "./components/messages.ts";
export { ToolExecutionComponent } from "./components/tool-execution.ts";
export { truncateToVisualLines, type VisualTruncateResult } from "./components/visual-lines.ts";
export { serializeConversation } from "./conversation.ts";
export { AuthStorage, discoverAuthStorage, readStoredCredential } from "./credentials.ts";
export { createEventBus, EventBusClass as EventBus, type EventBusController } from "./event-bus.ts";
export { type ParsedFrontmatter, parseFrontmatter, stripFrontmatter } from "./frontmatter.ts";
export { getLanguageFromPath, highlightCode } from "./highlight.ts";
export { appKey, appKeyHint, editorKey, KeybindingsManager, keyHint, keyText, rawKeyHint } from "./keybindings.ts";
export { bashExecutionToText, convertToLlm, type SessionMessage } from "./messages.ts";
export { withFileMutationQueue } from "./mutation-queue.ts";
export {
	buildContextEntries,
	buildSessionContext,
	buildSessionProjection,
	CURRENT_SESSION_VERSION,
	type FileEntry,
	getLatestCompactionEntry,
	migrateSessionEntries,
	parseSessionEntries,
	type SessionEntry,
	sessionEntryToContextMessages,
} from "./session-entries.ts";
export { SessionManager } from "./session-manager.ts";
export { Settings, SettingsManager, settings } from "./settings.ts";
export {
	formatSkillsForPrompt,
	loadSkills,
	loadSkillsFromDir,
	type LoadSkillsOptions,
	type LoadSkillsResult,
	type Skill,
} from "./skills.ts";
export { copyToClipboard, getPackageDir } from "./system.ts";
export { getAvailableThemes, getThemeByName, initTheme, theme } from "./themes.ts";
export * from "./tool-guards.ts";
export { generateDiffString, generateUnifiedPatch } from "./tools/edit-diff.ts";
export * from "./tools/index.ts";
export { createLocalBashOperations } from "./tools/local-bash.ts";
export { formatReadLineRange } from "./tools/render.ts";
export { getShellConfig } from "./tools/shell.ts";
export type * from "./tools/types.ts";
export {
	DEFAULT_MAX_BYTES,
	DEFAULT_MAX_LINES,
	formatSize,
	type TruncationOptions,
	type TruncationResult,
	truncateHead,
	truncateLine,
	truncateTail,
} from "./truncate.ts";
export * from "./unavailable.ts";
// xcsh's root re-exports what its extensions use of the component library.
export { Container, Spacer, Text } from "@earendil-works/pi-tui";
