// What the host told this isolate about itself. Set once, when the first extension is loaded, and read by the host modules.
// Values are live bindings: a module that imports `VERSION` early sees the value that is set later.

import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

export interface HostInfo {
	/** Name of the host's directory in projects and the home directory, with its dot. */
	configDirName: string;
	/** Absolute directory of the user's agent configuration; empty when the host did not say. */
	agentDir: string;
	appName: string;
	version: string;
	/** Working directory of the session. */
	cwd: string;
}

/** Name of the configuration directory, such as `.pi`. */
export let CONFIG_DIR_NAME = ".pi";
/** Version of the host. */
export let VERSION = "0.0.0";
/** Name under which the host shows itself. */
export let APP_NAME = "pi";

let agentDir = "";
let sessionCwd = "";

/** Takes the members that are given; later calls win. */
export function setHostInfo(info: Partial<HostInfo>): void {
	if (info.configDirName !== undefined) CONFIG_DIR_NAME = info.configDirName;
	if (info.version !== undefined) VERSION = info.version;
	if (info.appName !== undefined) APP_NAME = info.appName;
	if (info.agentDir !== undefined) agentDir = info.agentDir;
	if (info.cwd !== undefined) sessionCwd = info.cwd;
}

/** Replaces a leading `~` by the home directory. */
export function expandHome(path: string): string {
	if (path === "~") return homedir();
	return path.startsWith("~/") || path.startsWith("~\\") ? join(homedir(), path.slice(2)) : path;
}

/**
 * Absolute directory of the user's agent configuration. The host says which; before that, `PI_CODING_AGENT_DIR`, else the
 * configuration directory's `agent` in the home directory.
 */
export function getAgentDir(): string {
	if (agentDir !== "") return agentDir;
	const fromEnvironment = process.env.PI_CODING_AGENT_DIR;
	if (fromEnvironment) return resolve(expandHome(fromEnvironment));
	return join(homedir(), CONFIG_DIR_NAME, "agent");
}

/** Working directory of the session; the process's before the host said. */
export function getSessionCwd(): string {
	return sessionCwd === "" ? process.cwd() : sessionCwd;
}

/** Absolute form of a path that may be relative to `base` or start with `~`. */
export function resolveFrom(base: string, path: string): string {
	const expanded = expandHome(path);
	return isAbsolute(expanded) ? expanded : resolve(base, expanded);
}
