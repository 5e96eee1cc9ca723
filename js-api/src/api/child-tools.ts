// Tools of sessions that this isolate started (`createAgentSession({customTools})`): their code is here, their session is not this one.

import type { ExecuteToolHeader } from "./protocol.ts";
import type { Runtime } from "./runtime.ts";
import { prepared, runTool } from "./tools.ts";
import type { ToolDefinition } from "./types.ts";

/** The tools of one session and how their context is made. */
export interface ChildToolSet {
	tools: ReadonlyMap<string, ToolDefinition>;
	context(callId: number): unknown;
}

export function childTool(
	runtime: Runtime,
	header: ExecuteToolHeader & { session: number; op: "prepare" | "execute" },
	payload: string | undefined,
): unknown {
	const set = runtime.childTools.get(header.session);
	const tool = set?.tools.get(header.tool);
	if (set === undefined || tool === undefined) throw new Error(`Tool ${header.tool} not found`);
	if (header.op === "prepare") return prepared(tool, payload);
	return runTool(runtime, tool, header, payload, () => set.context(header.callId));
}
