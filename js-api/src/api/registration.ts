// JSON side of registrations: what the host learns about a tool, command, flag or provider.
// Reads definitions, never changes them.

import { isRecord, type JsonObject, type JsonValue, toJsonValue } from "./json.ts";
import type {
	CommandRegistration,
	FlagRegistration,
	ProfileCollectorRegistration,
	ProviderRegistration,
	Registrations,
	ServiceStatusRegistration,
	ToolRegistration,
} from "./protocol.ts";
import type { ExtensionRecord } from "./record.ts";
import type {
	CommandDefinition,
	FlagOptions,
	ProfileCollector,
	ProviderConfig,
	ServiceStatus,
	ToolDefinition,
} from "./types.ts";

/** Members that have a place of their own in `ToolRegistration`, or that are functions by definition. */
const KNOWN_TOOL_MEMBERS = new Set([
	"name",
	"label",
	"description",
	"parameters",
	"hidden",
	"defaultInactive",
	"defaultActive",
	"promptSnippet",
	"promptGuidelines",
	"executionMode",
	"execute",
	"prepareArguments",
	"renderCall",
	"renderResult",
	"onSession",
]);

/** Names of all enumerable members, inherited ones included, as X forwards both (§6.1). */
function memberNames(definition: object): string[] {
	const names: string[] = [];
	for (const name in definition) names.push(name);
	return names;
}

export function describeTool(tool: ToolDefinition): ToolRegistration {
	const where = `tool "${tool.name}"`;
	const registration: ToolRegistration = {
		name: tool.name,
		description: typeof tool.description === "string" ? tool.description : "",
		parameters: toJsonValue(tool.parameters, `${where} parameters`) ?? {},
		hasPrepareArguments: typeof tool.prepareArguments === "function",
		hasRenderCall: typeof tool.renderCall === "function",
		hasRenderResult: typeof tool.renderResult === "function",
		hasOnSession: typeof tool.onSession === "function",
		own: Object.keys(tool),
	};
	if (typeof tool.label === "string") registration.label = tool.label;
	if (tool.hidden === true) registration.hidden = true;
	if (tool.defaultInactive === true || tool.defaultActive === false) registration.defaultInactive = true;
	if (typeof tool.promptSnippet === "string") registration.promptSnippet = tool.promptSnippet;
	if (tool.promptGuidelines !== undefined) {
		registration.promptGuidelines = toJsonValue(tool.promptGuidelines, `${where} promptGuidelines`) ?? null;
	}
	if (typeof tool.executionMode === "string") registration.executionMode = tool.executionMode;
	for (const name of memberNames(tool)) {
		if (KNOWN_TOOL_MEMBERS.has(name) || name in registration) continue;
		const value = tool[name];
		if (value === undefined || typeof value === "function" || typeof value === "symbol") continue;
		const json = toJsonValue(value, `${where} ${name}`);
		if (json !== undefined) registration[name] = json;
	}
	return registration;
}

export function describeCommand(name: string, command: CommandDefinition): CommandRegistration {
	const registration: CommandRegistration = {
		name,
		hasCompletions: typeof command.getArgumentCompletions === "function",
	};
	if (typeof command.description === "string") registration.description = command.description;
	return registration;
}

export function describeFlag(name: string, options: FlagOptions): FlagRegistration {
	const registration: FlagRegistration = { name, type: options.type };
	if (typeof options.description === "string") registration.description = options.description;
	if (options.default !== undefined) registration.default = options.default;
	return registration;
}

function describeShortcut(key: string, description: string | undefined): { key: string; description?: string } {
	return typeof description === "string" ? { key, description } : { key };
}

export function describeProvider(name: string, provider: ProviderConfig): ProviderRegistration {
	const config: JsonObject = {};
	for (const member of memberNames(provider)) {
		const value = provider[member];
		if (value === undefined || typeof value === "function" || typeof value === "symbol") continue;
		const json: JsonValue | undefined = toJsonValue(value, `provider "${name}" ${member}`);
		if (json !== undefined) config[member] = json;
	}
	if (isRecord(provider.oauth) || typeof provider.oauth === "object") {
		config.oauth = { name: typeof provider.oauth?.name === "string" ? provider.oauth.name : name };
	}
	return {
		name,
		config,
		hasStreamSimple: typeof provider.streamSimple === "function",
		hasOAuth: provider.oauth !== undefined && provider.oauth !== null,
		hasModifyModels: typeof provider.oauth?.modifyModels === "function",
		hasRefreshModels: typeof provider.refreshModels === "function",
	};
}

export function describeServiceStatus(service: ServiceStatus): ServiceStatusRegistration {
	const registration: ServiceStatusRegistration = { name: service.name };
	if (typeof service.group === "string") registration.group = service.group;
	const fix = toJsonValue(service.fix, `service "${service.name}" fix`);
	if (fix !== undefined) registration.fix = fix;
	return registration;
}

export function describeProfileCollector(collector: ProfileCollector): ProfileCollectorRegistration {
	const registration: ProfileCollectorRegistration = {
		id: collector.id,
		name: typeof collector.name === "string" ? collector.name : collector.id,
	};
	const fields = toJsonValue(collector.authoritativeFields, `profile collector "${collector.id}"`);
	if (fields !== undefined) registration.authoritativeFields = fields;
	return registration;
}

export function describeTransformer(messageTypes: string[] | undefined): { messageTypes?: string[] } {
	return messageTypes === undefined ? {} : { messageTypes };
}

/** Everything a factory registered, in registration order. */
export function collectRegistrations(record: ExtensionRecord, busChannels: string[]): Registrations {
	const registrations: Registrations = {
		handlers: [...record.handlers].map(([id, { event }]) => ({ id, event })),
		tools: [...record.tools.values()].map(describeTool),
		commands: [...record.commands].map(([name, command]) => describeCommand(name, command)),
		flags: [...record.flags].map(([name, options]) => describeFlag(name, options)),
		shortcuts: [...record.shortcuts].map(([key, { description }]) => describeShortcut(key, description)),
		messageRenderers: [...record.messageRenderers.keys()],
		entryRenderers: [...record.entryRenderers.keys()],
		providers: [...record.providers].map(([name, config]) => describeProvider(name, config)),
		serviceStatus: [...record.serviceStatus.values()].map(describeServiceStatus),
		profileCollectors: [...record.profileCollectors.values()].map(describeProfileCollector),
		bus: busChannels,
	};
	if (record.label !== undefined) registrations.label = record.label;
	if (record.toolRenderer !== undefined) registrations.toolRenderer = true;
	if (record.markdownTransformer !== undefined) {
		registrations.markdownTransformer = describeTransformer(record.markdownTransformer.messageTypes);
	}
	return registrations;
}

export { describeShortcut };
