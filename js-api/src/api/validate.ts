// Checks of what extensions register. Every error names the member that is wrong and what was expected.

import { describeType, isObjectLike, isRecord } from "./json.ts";
import type {
	CommandDefinition,
	FlagOptions,
	ProfileCollector,
	ProviderConfig,
	ServiceStatus,
	ShortcutDefinition,
	ToolDefinition,
} from "./types.ts";

function fail(where: string, expected: string, got: unknown): never {
	throw new TypeError(`${where} must be ${expected}, got ${describeType(got)}`);
}

export function requireText(where: string, value: unknown): string {
	if (typeof value !== "string" || value.trim() === "") {
		throw new TypeError(`${where} must be a non-empty string, got ${value === "" ? '""' : describeType(value)}`);
	}
	return value;
}

export function requireFunction(where: string, value: unknown): void {
	if (typeof value !== "function") fail(where, "a function", value);
}

function optionalFunction(where: string, value: unknown): void {
	if (value !== undefined && value !== null) requireFunction(where, value);
}

export function checkTool(definition: unknown): ToolDefinition {
	if (!isObjectLike(definition)) fail("registerTool: the definition", "an object", definition);
	const tool = definition as ToolDefinition;
	const name = requireText("registerTool: name", tool.name);
	const where = `registerTool("${name}")`;
	if (!isObjectLike(tool.parameters) || Array.isArray(tool.parameters)) {
		fail(`${where}: parameters`, "a JSON Schema object", tool.parameters);
	}
	requireFunction(`${where}: execute`, tool.execute);
	for (const member of ["prepareArguments", "renderCall", "renderResult", "onSession"] as const) {
		optionalFunction(`${where}: ${member}`, tool[member]);
	}
	return tool;
}

export function checkCommand(name: unknown, options: unknown): CommandDefinition {
	const where = `registerCommand("${requireText("registerCommand: name", name)}")`;
	if (!isRecord(options)) fail(`${where}: options`, "an object", options);
	requireFunction(`${where}: handler`, options.handler);
	optionalFunction(`${where}: getArgumentCompletions`, options.getArgumentCompletions);
	return options as unknown as CommandDefinition;
}

export function checkShortcut(key: unknown, options: unknown): ShortcutDefinition {
	const where = `registerShortcut("${requireText("registerShortcut: key", key)}")`;
	if (!isRecord(options)) fail(`${where}: options`, "an object", options);
	requireFunction(`${where}: handler`, options.handler);
	return options as unknown as ShortcutDefinition;
}

export function checkFlag(name: unknown, options: unknown): FlagOptions {
	const where = `registerFlag("${requireText("registerFlag: name", name)}")`;
	if (!isRecord(options)) fail(`${where}: options`, "an object", options);
	if (options.type !== "boolean" && options.type !== "string") {
		throw new TypeError(`${where}: type must be "boolean" or "string"`);
	}
	if (options.default !== undefined && typeof options.default !== options.type) {
		fail(`${where}: default`, `a ${options.type}`, options.default);
	}
	return options as unknown as FlagOptions;
}

export function checkProvider(name: unknown, config: unknown): ProviderConfig {
	const where = `registerProvider("${requireText("registerProvider: name", name)}")`;
	if (!isObjectLike(config)) fail(`${where}: config`, "an object", config);
	const provider = config as ProviderConfig;
	optionalFunction(`${where}: streamSimple`, provider.streamSimple);
	optionalFunction(`${where}: refreshModels`, provider.refreshModels);
	if (provider.models !== undefined && !Array.isArray(provider.models)) {
		fail(`${where}: models`, "an array", provider.models);
	}
	if (provider.oauth !== undefined) {
		if (!isObjectLike(provider.oauth)) fail(`${where}: oauth`, "an object", provider.oauth);
		for (const member of ["login", "refreshToken", "getApiKey", "modifyModels"] as const) {
			optionalFunction(`${where}: oauth.${member}`, provider.oauth[member]);
		}
	}
	return provider;
}

export function checkServiceStatus(value: unknown): ServiceStatus {
	if (!isObjectLike(value)) fail("registerServiceStatus: the argument", "an object", value);
	const service = value as ServiceStatus;
	requireFunction(
		`registerServiceStatus("${requireText("registerServiceStatus: name", service.name)}"): check`,
		service.check,
	);
	return service;
}

export function checkProfileCollector(value: unknown): ProfileCollector {
	if (!isObjectLike(value)) fail("registerProfileCollector: the argument", "an object", value);
	const collector = value as ProfileCollector;
	const where = `registerProfileCollector("${requireText("registerProfileCollector: id", collector.id)}")`;
	requireFunction(`${where}: available`, collector.available);
	requireFunction(`${where}: collect`, collector.collect);
	return collector;
}
