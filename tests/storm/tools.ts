// Tools for the storms (tests/src/storm): quick, slow, one after another, with a child, deaf to aborts, failing.
import { setTimeout as sleep } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }], details: {} });
const parameters = Type.Object({ ms: Type.Number() });

export default function (pi: ExtensionAPI) {
	const tool = (name: string, more: Partial<Parameters<typeof pi.registerTool>[0]>) =>
		pi.registerTool({ name, label: name, description: name, parameters, ...more } as never);

	tool("pause", {
		async execute(_id: string, { ms }: { ms: number }, signal?: AbortSignal, onUpdate?: (partial: never) => void) {
			onUpdate?.(text("waiting") as never);
			await sleep(ms, undefined, { signal });
			onUpdate?.(text("nearly") as never);
			return text(`paused ${ms}`);
		},
	} as never);
	tool("ordered", {
		executionMode: "sequential",
		async execute(_id: string, { ms }: { ms: number }, signal?: AbortSignal) {
			await sleep(ms, undefined, { signal });
			return text(`ordered ${ms}`);
		},
	} as never);
	tool("child", {
		async execute(_id: string, { ms }: { ms: number }, signal?: AbortSignal) {
			const { code } = await pi.exec("sh", ["-c", `sleep ${ms / 1000} & wait`], { signal });
			return text(`child ${code}`);
		},
	} as never);
	tool("deaf", {
		async execute(_id: string, { ms }: { ms: number }) {
			await sleep(ms);
			return text(`deaf ${ms}`);
		},
	} as never);
	tool("fails", {
		async execute() {
			throw new Error("on purpose");
		},
	} as never);
	tool("note", {
		async execute(_id: string, { ms }: { ms: number }) {
			pi.appendEntry("note", { ms });
			return text("noted");
		},
	} as never);
}
