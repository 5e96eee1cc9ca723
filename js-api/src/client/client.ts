// The client: commands out, responses matched by id, everything else to listeners and handlers. Which part does what is in the files beside this one.

import {
	type BashOutcome,
	type CommandName,
	type Data,
	type Disposition,
	type Fields,
	TAKE_THEIR_TIME,
} from "./commands.js";
import { UiDesk } from "./desk.js";
import { type End, PierClosedError, PierError, PierTimeoutError, asError } from "./errors.js";
import type { PierEvent } from "./events.js";
import { type HostTool, HostTools } from "./host-tools.js";
import { type ClientEvents, EventHub, EventQueue } from "./hub.js";
import { LineSplitter, parseRecord } from "./lines.js";
import { PendingCommands, type Response } from "./pending.js";
import { startProcess } from "./process.js";
import { type RunResult, RunWatch } from "./run.js";
import type { Arguments, ClientOptions, InputOptions, PromptOptions, Screen, StartOptions } from "./options.js";
import type { Transport } from "./transport.js";
import type { UiHandlers } from "./ui.js";
import { Wait, type WaitOptions, settlesWithin } from "./wait.js";

const DEFAULT_TIMEOUT = 60_000;
const DEFAULT_START_TIMEOUT = 30_000;
/** Pier itself takes ten seconds at most to end in order. */
const DEFAULT_CLOSE_TIMEOUT = 12_000;
/** Milliseconds that a signal has to end the process. */
const SIGNAL_TIMEOUT = 2000;
/** Milliseconds between one half of the connection breaking and the other half, or the end of the process, saying more. */
const BREAK_TIMEOUT = 1000;
const DEFAULT_QUEUE = 65_536;
const REPLACE_SESSION = new Set<CommandName>(["new_session", "switch_session", "fork", "branch", "clone"]);

export class PierClient {
	readonly #transport: Transport;
	readonly #timeout: number;
	readonly #hub = new EventHub();
	readonly #pending = new PendingCommands();
	readonly #desk: UiDesk;
	readonly #tools: HostTools;
	#screen: Screen;
	#writes: Promise<void> = Promise.resolve();
	#startupError: string | undefined;
	#closing: Promise<End> | undefined;
	#closed: PierClosedError | undefined;
	/** Everything was read and the other side has ended. */
	readonly #over: Promise<End>;

	/** Starts Pier and resolves when it has said its first word. Commands wait there until the extensions are loaded. */
	static async start(options: StartOptions = {}): Promise<PierClient> {
		const { startTimeout = DEFAULT_START_TIMEOUT, signal } = options;
		signal?.throwIfAborted();
		const client = new PierClient(await startProcess(options), options);
		try {
			await client.waitFor("ready", { timeout: startTimeout, signal });
			return client;
		} catch (error) {
			await client.close({ timeout: SIGNAL_TIMEOUT });
			throw error;
		}
	}

	/** Over a connection that exists. Listeners that are added in the same turn miss nothing. */
	constructor(transport: Transport, options: ClientOptions = {}) {
		this.#transport = transport;
		this.#timeout = options.timeout ?? DEFAULT_TIMEOUT;
		this.#screen = options.screen ?? { columns: 80, rows: 24 };
		const post = {
			post: (record: object) => this.#post(record),
			report: (error: Error) => this.#hub.own("client_error", error),
		};
		this.#desk = new UiDesk(post);
		this.#tools = new HostTools(post);
		if (options.onEvent !== undefined) this.#hub.on("*", options.onEvent);
		if (options.ui !== undefined) this.onUi(options.ui);
		this.#over = this.#read();
	}

	/** How Pier ended; `undefined` while it runs. */
	get closed(): PierClosedError | undefined {
		return this.#closed;
	}

	/** Sends a command and gives the data of its response. */
	send<Name extends CommandName>(command: Name, ...[fields, bounds]: Arguments<Name>): Promise<Data<Name>> {
		return this.#request(command, fields ?? {}, bounds).answer;
	}

	async prompt(message: string, { timeout, signal, ...fields }: PromptOptions = {}): Promise<Disposition> {
		const data = await this.send("prompt", { message, ...fields }, { timeout, signal });
		return data.disposition;
	}

	/** Queues a message for the next turn of the run. It starts none. */
	async steer(message: string, { timeout, signal, ...fields }: InputOptions = {}): Promise<Disposition> {
		return (await this.send("steer", { message, ...fields }, { timeout, signal })).disposition;
	}

	/** Queues a message for the end of the run. It starts none. */
	async followUp(message: string, { timeout, signal, ...fields }: InputOptions = {}): Promise<Disposition> {
		return (await this.send("follow_up", { message, ...fields }, { timeout, signal })).disposition;
	}

	/** Ends the run; resolves when the session is idle. */
	async abort(options: WaitOptions = {}): Promise<void> {
		await this.send("abort", {}, options);
	}

	/**
	 * Sends a prompt and waits until nothing more happens by itself: for a prompt that started a run to the end of that run, for one that was queued
	 * to the end of the run that it joins, for an extension command also to the end of a run that it started. Rejects when the prompt is refused and
	 * when the model fails. A time limit or a signal aborts the run.
	 */
	async promptAndWait(message: string, options: PromptOptions = {}): Promise<RunResult> {
		const { timeout, signal, ...fields } = options;
		signal?.throwIfAborted();
		const run = new RunWatch(this.#hub, this.#closed, { timeout, signal });
		const { answer } = this.#request("prompt", { message, ...fields }, {}, (data) => run.admitted(data.disposition));
		answer
			.then(async ({ disposition }) => {
				if (disposition !== "started" && !(await this.send("get_state")).isStreaming) run.idle();
			})
			.catch((error: unknown) => run.fail(error));
		try {
			return await run.result();
		} catch (error) {
			if (error instanceof PierTimeoutError || signal?.aborted) {
				// The caller learns why the wait ended; that there was nothing to abort is not a second failure.
				await this.abort().catch(() => undefined);
			}
			throw error;
		}
	}

	/** Runs a shell command for the person at the client. `onOutput` gets what it prints, as it comes. */
	async bash(
		command: string,
		options: { excludeFromContext?: boolean; onOutput?: (text: string) => void } & WaitOptions = {},
	): Promise<BashOutcome> {
		const { timeout, signal, onOutput, ...fields } = options;
		const { id, answer } = this.#request("bash", { command, ...fields }, { timeout, signal });
		if (onOutput === undefined) return answer;
		const stop = this.on("bash_execution_update", (event) => {
			if (event.id === id) onOutput(event.delta);
		});
		try {
			return await answer;
		} finally {
			stop();
		}
	}

	/** Replaces the tools that this client runs for the model; gives their names. */
	async setHostTools(tools: readonly HostTool[], options: WaitOptions = {}): Promise<string[]> {
		const declare = (declared: Fields<"set_host_tools">["tools"]) =>
			this.send("set_host_tools", { tools: declared }, options);
		return (await this.#tools.replace(tools, declare)).toolNames;
	}

	/** Replaces the functions that answer and show what extensions ask. */
	onUi(handlers: UiHandlers): void {
		this.#desk.use(handlers);
		// Says that there is somebody who knows components.
		if (handlers.custom !== undefined) this.resize(this.#screen);
	}

	/** Size for the components of extensions; Pier draws them again. */
	resize(screen: Screen): void {
		this.#screen = screen;
		this.#post({ type: "extension_ui_resize", columns: screen.columns, rows: screen.rows });
	}

	/** Calls a function for each event of a type; `*` stands for all. Returns a function that ends it. */
	on<Name extends keyof ClientEvents>(type: Name, listener: (event: ClientEvents[Name]) => void): () => void {
		return this.#hub.on(type, listener);
	}

	/** The next event of a type that fits. Rejects when Pier ends first. */
	waitFor<Name extends Exclude<keyof ClientEvents, "closed">>(
		type: Name,
		options: WaitOptions & { where?: (event: ClientEvents[Name]) => boolean } = {},
	): Promise<ClientEvents[Name]> {
		const { where = () => true } = options;
		const stops: (() => void)[] = [];
		const wait = new Wait<ClientEvents[Name]>(`The event ${type}`, options, () => {
			for (const stop of stops) stop();
		});
		if (this.#closed !== undefined) wait.reject(this.#closed);
		if (wait.over) return wait.promise;
		stops.push(
			this.on("closed", (error) => wait.reject(error)),
			this.on(type, (event) => {
				try {
					if (where(event)) wait.resolve(event);
				} catch (error) {
					wait.reject(error);
				}
			}),
		);
		return wait.promise;
	}

	/**
	 * Every event from now on, one by one, until Pier ends. What comes while the loop is busy is kept; a loop that falls `limit` events behind (65 536)
	 * fails, and so does one that is running when Pier dies.
	 */
	events({ limit = DEFAULT_QUEUE }: { limit?: number } = {}): AsyncIterableIterator<PierEvent> {
		const stops: (() => void)[] = [];
		const queue = new EventQueue(limit, () => {
			for (const stop of stops) stop();
		});
		const end = (error: PierClosedError) => queue.end(this.#inOrder(error) ? undefined : error);
		stops.push(
			this.on("*", (event) => queue.push(event)),
			this.on("closed", end),
		);
		if (this.#closed !== undefined) end(this.#closed);
		return queue;
	}

	/**
	 * Ends Pier in order: what was sent is still read, the run is aborted, extensions clean up. After `timeout` milliseconds (12 000) signals end it.
	 * Commands that are not answered by then reject.
	 */
	close({ timeout = DEFAULT_CLOSE_TIMEOUT }: { timeout?: number } = {}): Promise<End> {
		this.#closing ??= this.#shutDown(timeout);
		return this.#closing;
	}

	#request<Name extends CommandName>(
		command: Name,
		fields: object,
		options: WaitOptions = {},
		onSuccess: (data: Data<Name>) => void = () => undefined,
	): { id: string; answer: Promise<Data<Name>> } {
		const patience = TAKE_THEIR_TIME.has(command) ? 0 : this.#timeout;
		const dialogs = this.#desk.count;
		const { id, wait } = this.#pending.open(
			command,
			{ signal: options.signal, timeout: options.timeout ?? patience },
			(data) => {
				this.#dialogsAfter(command, data, dialogs);
				// What Pier answers to this command (docs/rpc.md).
				onSuccess(data as Data<Name>);
			},
		);
		const answer = wait.promise as Promise<Data<Name>>;
		if (wait.over) return { id, answer };
		if (this.#closed !== undefined || this.#closing !== undefined) {
			wait.reject(this.#closed ?? new PierClosedError("The client was closed"));
			return { id, answer };
		}
		try {
			this.#post({ ...fields, id, type: command });
		} catch (error) {
			wait.reject(error);
		}
		return { id, answer };
	}

	/** Some commands end dialogs, without a word about it. */
	#dialogsAfter(command: CommandName, data: unknown, openBefore: number): void {
		if (command === "abort" || command === "abort_and_prompt") {
			this.#desk.endDialogs(this.#desk.count, "The run was aborted");
		} else if (REPLACE_SESSION.has(command) && (data as Data<"clone">).cancelled === false) {
			// Later ones belong to the new session.
			this.#desk.endDialogs(openBefore, "The session was replaced");
		}
	}

	/** Writes a record after all that were posted before it. */
	#post(record: object): void {
		const text = `${JSON.stringify(record)}\n`;
		if (this.#closed !== undefined || this.#closing !== undefined) return;
		this.#writes = this.#writes
			.then(() => this.#transport.write(text))
			.catch(async (cause: unknown) => {
				// The end of the process, which is about to be noticed, says more.
				if (await settlesWithin(this.#over, BREAK_TIMEOUT)) return;
				this.#finish(new PierClosedError("Pier does not read its input any more", undefined, { cause }));
			});
	}

	async #read(): Promise<End> {
		const lines = new LineSplitter();
		try {
			for await (const chunk of this.#transport.output) {
				for (const line of lines.push(chunk)) this.#line(line);
			}
		} catch (error) {
			// A stream that breaks off; how the process ended says more.
			if (this.#closing === undefined) this.#hub.own("client_error", asError(error));
		}
		const rest = lines.end();
		if (rest !== undefined) this.#line(rest);
		if (!(await settlesWithin(this.#transport.ended, BREAK_TIMEOUT))) {
			this.#finish(new PierClosedError("The output of Pier ended"));
		}
		const end = await this.#transport.ended;
		this.#finish(this.#closedError(end));
		return end;
	}

	#line(line: Buffer): void {
		try {
			const record = parseRecord(line);
			if (record.type === "response") this.#response(record as unknown as Response);
			else this.#event(record as unknown as PierEvent);
		} catch (thrown) {
			const error = asError(thrown);
			const shown = line.subarray(0, 200).toString("utf8");
			const report = new PierError(`Cannot handle this line of Pier: ${error.message}: ${shown}`, { cause: error });
			this.#hub.own("client_error", report);
		}
	}

	#response(response: Response): void {
		const failure = this.#pending.answer(response);
		if (failure !== undefined) this.#hub.own("client_error", failure);
	}

	#event(event: PierEvent): void {
		this.#hub.record(event);
		switch (event.type) {
			case "extension_ui_request":
				this.#desk.request(event);
				break;
			case "host_tool_call":
				void this.#tools.call(event);
				break;
			case "host_tool_cancel":
				this.#tools.cancel(event);
				break;
			case "startup_error":
				this.#startupError = event.error;
		}
	}

	#closedError(end: End): PierClosedError {
		const { code, signal, stderr } = end;
		if (this.#closing !== undefined) return new PierClosedError("The client was closed", end);
		const how =
			signal !== null
				? `Pier was ended by ${signal}`
				: code !== null
					? `Pier ended with exit code ${code}`
					: "The connection to Pier ended";
		const why = this.#startupError ?? stderr.trimEnd().split("\n").at(-1) ?? "";
		return new PierClosedError(why === "" ? how : `${how}: ${why}`, end);
	}

	/** Nobody need be told that this was the end. */
	#inOrder(closed: PierClosedError): boolean {
		return this.#closing !== undefined || closed.exitCode === 0;
	}

	/** Ends everything that waits. Only the first call counts. */
	#finish(error: PierClosedError): void {
		if (this.#closed !== undefined) return;
		this.#closed = error;
		this.#pending.failAll(error);
		this.#desk.end(error);
		this.#tools.end(error);
		this.#hub.own("closed", error);
	}

	async #shutDown(timeout: number): Promise<End> {
		void this.#writes.then(() => this.#transport.end());
		const over = this.#over;
		if (!(await settlesWithin(over, timeout))) {
			for (const signal of ["SIGTERM", "SIGKILL"] as const) {
				this.#transport.kill(signal);
				if (await settlesWithin(over, SIGNAL_TIMEOUT)) break;
			}
		}
		const unknown = { code: null, signal: null, stderr: "" };
		// Also when even SIGKILL gave no sign of an end.
		return Promise.race([over, Promise.resolve(unknown)]).then((end) => {
			this.#finish(new PierClosedError("The client was closed", end));
			return end;
		});
	}
}
