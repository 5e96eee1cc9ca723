// Small things around the process: the package's own places, the clipboard.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { getAgentDir } from "../host-info.ts";

/** Milliseconds that a clipboard program may take. */
const CLIPBOARD_TIMEOUT = 5000;

const CLIPBOARD_PROGRAMS: Readonly<Record<string, readonly (readonly string[])[]>> = {
	darwin: [["pbcopy"]],
	win32: [["clip"]],
	linux: [["wl-copy"], ["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]],
};

function pipeTo(command: string, args: readonly string[], text: string): Promise<boolean> {
	return new Promise((resolve) => {
		const child = spawn(command, args, { stdio: ["pipe", "ignore", "ignore"], timeout: CLIPBOARD_TIMEOUT });
		child.once("error", () => resolve(false));
		child.once("close", (code) => resolve(code === 0));
		child.stdin.once("error", () => resolve(false));
		child.stdin.end(text);
	});
}

/** Copies text with the first program that works. @throws when none does */
export async function copyToClipboard(text: string): Promise<void> {
	for (const [command = "", ...args] of CLIPBOARD_PROGRAMS[process.platform] ?? CLIPBOARD_PROGRAMS.linux ?? []) {
		if (await pipeTo(command, args, text)) return;
	}
	throw new Error("No clipboard program works here (tried those of the platform).");
}

/** The agent directory stands in for the package's own: the host is one program without files beside it. */
export function getPackageDir(): string {
	return getAgentDir();
}

/** Path of a `file:` URL, or the path as given. */
export function toPath(location: string | URL): string {
	return location instanceof URL || location.startsWith("file:") ? fileURLToPath(location) : location;
}
