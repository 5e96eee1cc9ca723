// `ctx.modelRegistry` (sdk-exports §2.4): synchronous readers over the host's models, and requests that go through the host, so that
// credentials stay there. What changes providers is the API object of the extension whose registry it is.

import { hostCall, hostCallAsync } from "../host.ts";
import { type CanonicalModel, canonicalModels, resolveCanonical } from "./canonical-models.ts";
import { messageOf } from "./errors.ts";
import { MessageEventStream } from "./event-stream.ts";
import { isRecord, toJsonValue } from "./json.ts";
import { PartialMessageBuilder } from "./partial-message.ts";
import type { ModelInfo, ProviderInfo, RequestAuth } from "./protocol.ts";
import type { ExtensionRecord, ProviderMutators } from "./record.ts";
import { currentRuntime } from "./runtime.ts";
import type { EventStreamLike } from "./types.ts";
import { whenAborted } from "./when-aborted.ts";

interface ModelReference {
	provider: string;
	id: string;
}

export type ApiKeyAndHeaders = ({ ok: true } & RequestAuth) | { ok: false; error: string };

function providerOf(model: unknown): string {
	if (isRecord(model) && typeof model.provider === "string") return model.provider;
	throw new TypeError("modelRegistry: expected a model with a provider");
}

/** Options without what cannot cross: the signal is mirrored by hand, callbacks have no meaning on the other side. */
function plainOptions(options: Record<string, unknown>): unknown {
	const plain = Object.entries(options).filter(([key, value]) => key !== "signal" && typeof value !== "function");
	return toJsonValue(Object.fromEntries(plain), "model options") ?? {};
}

/** The answer of a kind of model that Pier has none of (`classify` and `generateImages` never reject). */
function unsupported(what: string, model: unknown) {
	const { api, provider, id } = (isRecord(model) ? model : {}) as Record<string, unknown>;
	const errorMessage = `Pier cannot ask ${what} models: only chat models are supported.`;
	return { api, provider, model: id, stopReason: "error", errorMessage, timestamp: Date.now() };
}

/** Whose registry it is; absent for those that extensions make themselves and for that of a session. */
const owners = new WeakMap<ModelRegistry, ExtensionRecord>();

/** The host's models; the constructor takes xcsh's arguments and ignores them, since the host holds credentials. */
export class ModelRegistry {
	/** Selectors that {@link suppressSelector} took out, with the time (milliseconds since 1970) until which. */
	readonly #suppressed = new Map<string, number>();

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

	getModelsOfType(type: string, provider?: string): ModelInfo[] {
		return this.getAll().filter(
			(model) => (model.type ?? "chat") === type && (provider === undefined || model.provider === provider),
		);
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

	/** Whether requests could be made now: what {@link getAvailable} and `setModel` go by. */
	getProviderAuthStatus(name: string): { configured: boolean; source?: string } {
		const { configured = false, auth = "none" } = this.#provider(name) ?? {};
		return configured && auth !== "none" ? { configured, source: auth } : { configured };
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

	/** What a request to this model is made with. Never rejects. */
	async getApiKeyAndHeaders(model: ModelReference): Promise<ApiKeyAndHeaders> {
		try {
			const provider = providerOf(model);
			return { ok: true, ...(await hostCallAsync("requestAuth", { provider, model: String(model.id) })) };
		} catch (error) {
			return { ok: false, error: messageOf(error) };
		}
	}

	/** The same for a provider or a model, with where the key comes from; `undefined` without a credential. */
	async getProviderAuth(of: string | ModelReference): Promise<{ auth: RequestAuth; source?: string } | undefined> {
		const provider = typeof of === "string" ? of : providerOf(of);
		const { configured, source } = this.getProviderAuthStatus(provider);
		if (!configured) return undefined;
		const model = typeof of === "string" ? {} : { model: String(of.id) };
		const auth = await hostCallAsync("requestAuth", { provider, ...model });
		return { auth, ...(source === undefined ? {} : { source }) };
	}

	/** X: models of the same id, whoever offers them. */
	getCanonicalModels(options?: { availableOnly?: boolean }): CanonicalModel[] {
		return canonicalModels(options?.availableOnly ? this.getAvailable() : this.getAll());
	}

	/** X: the model that an id without a provider means; one that could be asked now is preferred. */
	resolveCanonicalModel(id: string, options?: { availableOnly?: boolean }): ModelInfo | undefined {
		const wanted = (models: ModelInfo[]) =>
			resolveCanonical(
				id,
				models.filter((model) => !this.isSelectorSuppressed(`${model.provider}/${model.id}`)),
			);
		return wanted(this.getAvailable()) ?? (options?.availableOnly ? undefined : wanted(this.getAll()));
	}

	/** X: providers whose models the host looks up by itself. There are none: lists come from registrations and `models.json`. */
	getDiscoverableProviders(): string[] {
		return [];
	}

	/** X: keeps `provider/id` out of {@link resolveCanonicalModel} until a time, in milliseconds since 1970. */
	suppressSelector(selector: string, until: number): void {
		this.#suppressed.set(String(selector), Number(until));
	}

	isSelectorSuppressed(selector: string): boolean {
		return (this.#suppressed.get(selector) ?? 0) > Date.now();
	}

	#mutators(): ProviderMutators {
		const record = owners.get(this) ?? currentRuntime().records.values().next().value;
		if (record?.mutators === undefined) throw new Error("modelRegistry: no extension is loaded that could register");
		return record.mutators;
	}

	/** As `pi.registerProvider`, in the name of the extension whose context this is. */
	registerProvider(nameOrProvider: unknown, config?: unknown): void {
		this.#mutators().registerProvider(nameOrProvider, config);
	}

	unregisterProvider(name: string): void {
		this.#mutators().unregisterProvider(name);
	}

	/** As `pi.registerVirtualModel`. */
	registerVirtualModel(definition: unknown): void {
		this.#mutators().registerVirtualModel(definition);
	}

	async classify(model: unknown, _context?: unknown, _options?: unknown): Promise<unknown> {
		return { ...unsupported("classifier", model), answers: {} };
	}

	async generateImages(model: unknown, _context?: unknown, _options?: unknown): Promise<unknown> {
		return { ...unsupported("image", model), output: [] };
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
				const applied = builder.apply(event);
				// Of the wire only: on this side the usage is a member of the partial message.
				if (event.type !== "usage") stream.push(applied);
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

const registries = new WeakMap<ExtensionRecord, ModelRegistry>();

/** The registry of an extension's contexts. */
export function modelRegistryOf(record: ExtensionRecord): ModelRegistry {
	let own = registries.get(record);
	if (own === undefined) {
		own = new ModelRegistry();
		owners.set(own, record);
		registries.set(record, own);
	}
	return own;
}
