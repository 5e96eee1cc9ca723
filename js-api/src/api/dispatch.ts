// Runs one handler for one event and answers its outcome. Order, chaining and what an outcome means are decided in the host (design, invariant 3).

import type { CallScope } from "./calls.ts";
import { registerBashOperations } from "./bash-operations.ts";
import { contextEnv, createLightContext, createTrustContext } from "./context.ts";
import { EditWatch, type EventObject, reviveEvent } from "./event-codec.ts";
import { isRecord } from "./json.ts";
import type { DispatchHeader, DispatchOutcome } from "./protocol.ts";
import type { ExtensionRecord } from "./record.ts";
import type { Runtime } from "./runtime.ts";

/** Result members that need another form to cross. Everything else goes as it is. */
function portableResult(runtime: Runtime, event: EventObject, result: unknown): unknown {
	if (!isRecord(result)) return result;
	if (event.type === "user_bash" && result.operations !== undefined) {
		return { ...result, operations: { handle: registerBashOperations(runtime, result.operations) } };
	}
	if (Array.isArray(result.systemPrompt)) return { ...result, systemPrompt: result.systemPrompt.join("\n\n") };
	return result;
}

function contextFor(runtime: Runtime, record: ExtensionRecord, event: EventObject, callId: number): unknown {
	if (event.type === "session_directory") return undefined;
	const env = contextEnv(runtime, record, callId);
	return event.type === "project_trust" ? createTrustContext(env) : createLightContext(env);
}

export function dispatch(
	runtime: Runtime,
	header: DispatchHeader,
	payload: string | undefined,
): undefined | DispatchOutcome | Promise<DispatchOutcome | undefined> {
	const record = runtime.record(header.ext);
	const handler = record.handlers.get(header.handler);
	// Unsubscribed after the host had taken its list.
	if (handler === undefined) return undefined;
	return runtime.calls.run(header.callId, (scope: CallScope) => {
		const event = reviveEvent(payload, scope, record.profile);
		const watch =
			header.returns === undefined || payload === undefined ? undefined : new EditWatch(event, payload, header.returns);
		const finish = (result: unknown): DispatchOutcome | undefined => {
			const changes = watch?.changes();
			if (result === undefined) return changes;
			return { result: portableResult(runtime, event, result), ...changes };
		};
		const outcome = handler.fn(event, contextFor(runtime, record, event, header.callId));
		return isThenable(outcome) ? Promise.resolve(outcome).then(finish) : finish(outcome);
	});
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
	return isRecord(value) && typeof value.then === "function";
}
