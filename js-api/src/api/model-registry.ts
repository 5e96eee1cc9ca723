// `ctx.modelRegistry` (sdk-exports §2.4): synchronous readers over the host's models, and requests that go through the host, so that
// credentials stay there.

import { hostCall, hostCallAsync } from "../host.ts";
import { messageOf } from "./errors.ts";
import { MessageEventStream } from "./event-stream.ts";
import { isRecord, toJsonValue } from "./json.ts";
import { PartialMessageBuilder } from "./partial-message.ts";
import type { ModelInfo, ProviderInfo } from "./protocol.ts";
import { currentRuntime } from "./runtime.ts";
import type { EventStreamLike } from "./types.ts";
import { whenAborted } from "./when-aborted.ts";

interface ModelReference {
	provider: string;
	id: string;
	headers?: Record<string, string>;
}

export type ApiKeyAndHeaders =
	| { ok: true; apiKey?: string; headers?: Record<string, string> }
	| { ok: false; error: string };

function providerOf(model: unknown): string {
	if (isRecord(model) && typeof model.provider === "string") return model.provider;
	throw new TypeError("modelRegistry: expected a model with a provider");
}

/** Options without what cannot cross: the signal is mirrored by hand, callbacks have no meaning on the other side. */
function plainOptions(options: Record<string, unknown>): unknown {
	const plain = Object.entries(options).filter(([key, value]) => key !== "signal" && typeof value !== "function");
	return toJsonValue(Object.fromEntries(plain), "model options") ?? {};
}

/** One registry for the realm; the constructor takes xcsh's arguments and ignores them, since the host holds credentials. */
export class ModelRegistry {
	getAll(): ModelInfo[] {
		return [...currentRuntime().state.models(false)];
	}

	/** Models whose provider has a credential. */
	getAvailable(): ModelInfo[] {
		return [...currentRuntime().state.models(true)];
	}

	find(provider: string, id: string): ModelInfo | undefined {
		return currentRuntime()
			.state.models(false)
			.find((model) => model.provider === provider && model.id === id);
	}

	getModelsOfType(type: string): ModelInfo[] {
		return this.getAll().filter((model) => (model.type ?? "chat") === type);
	}

	findOfType(type: string, provider: string, id: string): ModelInfo | undefined {
		return this.getModelsOfType(type).find((model) => model.provider === provider && model.id === id);
	}

	/** What is wrong with `models.json`; the host says it as well. */
	getError(): string | undefined {
		return hostCall("modelsProblem") ?? undefined;
	}

	#provider(name: string): ProviderInfo | undefined {
		return currentRuntime()
			.state.providers()
			.find((provider) => provider.name === name);
	}

	getProvider(name: string): ProviderInfo | undefined {
		return this.#provider(name);
	}

	getProviderDisplayName(name: string): string {
		return this.#provider(name)?.displayName ?? name;
	}

	getProviderBaseUrl(name: string): string | undefined {
		return this.#provider(name)?.baseUrl;
	}

	getRegisteredProviderIds(): string[] {
		return currentRuntime()
			.state.providers()
			.map((provider) => provider.name);
	}

	getProviderAuthStatus(name: string): { configured: boolean; source?: string } {
		const auth = this.#provider(name)?.auth ?? "none";
		return auth === "none" ? { configured: false } : { configured: true, source: auth };
	}

	hasConfiguredAuth(model: ModelReference): boolean {
		return this.getProviderAuthStatus(providerOf(model)).configured;
	}

	isUsingOAuth(model: ModelReference): boolean {
		return this.#provider(providerOf(model))?.auth === "oauth";
	}

	async refresh(): Promise<void> {
		await hostCallAsync("refreshModels");
	}

	/** Credential for a model's provider, if this extension may have it. */
	async getApiKey(model: ModelReference, _sessionId?: string): Promise<string | undefined> {
		return this.getApiKeyForProvider(providerOf(model));
	}

	async getApiKeyForProvider(provider: string): Promise<string | undefined> {
		return (await hostCallAsync("getApiKey", { provider: String(provider) })) ?? undefined;
	}

	async getApiKeyAndHeaders(model: ModelReference): Promise<ApiKeyAndHeaders> {
		try {
			const apiKey = await this.getApiKey(model);
			return {
				ok: true,
				...(apiKey === undefined ? {} : { apiKey }),
				...(model.headers === undefined ? {} : { headers: model.headers }),
			};
		} catch (error) {
			return { ok: false, error: messageOf(error) };
		}
	}

	/** Runs a request. Failures arrive as the stream's `error` event, never as a rejection. */
	stream(model: unknown, context: unknown, options?: Record<string, unknown>): EventStreamLike {
		const runtime = currentRuntime();
		const stream = runtime.namespaces.createEventStream?.() ?? new MessageEventStream();
		const builder = new PartialMessageBuilder(model);
		const completionId = runtime.nextId();
		const callId = runtime.calls.current;
		const signal = options?.signal as AbortSignal | undefined;
		let finished = false;
		const onEvent = runtime.callbacks.add((args) => {
			for (const event of args.flat()) {
				if (!isRecord(event)) continue;
				if (event.type === "done" || event.type === "error") finished = true;
				stream.push(builder.apply(event));
			}
		});
		const cancel = () =>
			hostCall("complete.cancel", {
				completionId,
				...(signal?.reason === undefined ? {} : { reason: messageOf(signal.reason) }),
			});
		let stopWaiting = () => {};
		const run = async () => {
			try {
				if (signal?.aborted) throw signal.reason ?? new Error("Request was aborted");
				const pending = hostCallAsync("complete", {
					completionId,
					model: toJsonValue(model, "model"),
					context: toJsonValue(context, "model context"),
					options: plainOptions(options ?? {}),
					onEvent,
					...(callId === undefined ? {} : { callId }),
				});
				if (signal) stopWaiting = whenAborted(signal, cancel);
				const message = await pending;
				if (finished) return;
				const { stopReason } = message;
				if (stopReason === "error" || stopReason === "aborted") {
					stream.push({ type: "error", reason: stopReason, error: message });
				} else stream.push({ type: "done", reason: stopReason, message });
			} catch (error) {
				const reason = signal?.aborted ? "aborted" : "error";
				if (!finished) stream.push({ type: "error", reason, error: builder.failed(reason, messageOf(error)) });
			} finally {
				stopWaiting();
				runtime.callbacks.release([onEvent]);
			}
		};
		void run();
		return stream;
	}

	streamSimple(model: unknown, context: unknown, options?: Record<string, unknown>): EventStreamLike {
		return this.stream(model, context, options);
	}

	complete(model: unknown, context: unknown, options?: Record<string, unknown>): Promise<unknown> {
		return this.stream(model, context, options).result();
	}

	completeSimple(model: unknown, context: unknown, options?: Record<string, unknown>): Promise<unknown> {
		return this.complete(model, context, options);
	}
}

let registry: ModelRegistry | undefined;

/** The realm's registry. */
export function currentModelRegistry(): ModelRegistry {
	registry ??= new ModelRegistry();
	return registry;
}
