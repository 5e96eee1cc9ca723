// Small helpers for authors of tools and of tool hooks: type inference and narrowing. They do nothing at run time but compare names.

type ToolName = string;

interface ToolCallLike {
	toolName: ToolName;
}

/** The definition itself; TypeScript infers the argument types from its schema. */
export function defineTool<T>(definition: T): T {
	return definition;
}

/** Narrows a `tool_call` event to the tool of this name. */
export function isToolCallEventType<Name extends ToolName, E extends ToolCallLike>(
	toolName: Name,
	event: E,
): event is E & { toolName: Name } {
	return event.toolName === toolName;
}

function guard<Name extends ToolName>(toolName: Name) {
	return <E extends ToolCallLike>(event: E): event is E & { toolName: Name } => event.toolName === toolName;
}

export const isBashToolResult = guard("bash");
export const isReadToolResult = guard("read");
export const isEditToolResult = guard("edit");
export const isWriteToolResult = guard("write");
export const isGrepToolResult = guard("grep");
export const isFindToolResult = guard("find");
export const isLsToolResult = guard("ls");
export const isPowerShellToolResult = guard("powershell");
