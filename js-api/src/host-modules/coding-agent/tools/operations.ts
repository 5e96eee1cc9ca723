// Operations that callers of a tool factory give. They stay here; the host's tool calls them by handle (docs/bridge-protocol.md, `runBuiltinTool`).

import { Buffer } from "node:buffer";
import { currentRuntime } from "../../../api/runtime.ts";
import { registerBashOperations } from "../../../api/bash-operations.ts";
import type { OwnParts } from "./host-run.ts";
import type { BashOperations, BashSpawnContext, BashSpawnHook, ReadOperations } from "./types.ts";

/** What the host gets of one call. A thrown value crosses as text, with its errno name when it has one. */
type Answer = { value: unknown } | { error: { message: string; code?: string } };

type Operation = (...args: never[]) => unknown;
type Operations = Record<string, unknown>;

const OPTIONAL = ["detectImageMimeType", "createReadStream"];

function failure(error: unknown): Answer {
	const code = (error as { code?: unknown } | null)?.code;
	const message = error instanceof Error ? error.message : String(error);
	return { error: { message, ...(typeof code === "string" ? { code } : {}) } };
}

function base64(content: unknown): string {
	if (typeof content === "string") return Buffer.from(content, "utf8").toString("base64");
	if (content instanceof Uint8Array)
		return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64");
	throw new TypeError("file content must be a Buffer");
}

/** The streams of one tool call, pulled by the host. */
class Streams {
	private readonly open = new Map<number, AsyncIterator<Uint8Array>>();
	private next = 1;

	add(stream: AsyncIterable<Uint8Array>): number {
		const id = this.next++;
		this.open.set(id, stream[Symbol.asyncIterator]());
		return id;
	}

	/** The next chunk; `null` at the end. */
	async read(id: number): Promise<string | null> {
		const step = await this.open.get(id)?.next();
		return step === undefined || step.done ? null : base64(step.value);
	}

	async close(id: number): Promise<void> {
		const stream = this.open.get(id);
		this.open.delete(id);
		await stream?.return?.();
	}
}

/** The functions under the names that the host uses. */
function named(operations: Operations, signal: AbortSignal | undefined): Record<string, Operation> {
	const own = (name: string, ...args: unknown[]) => {
		const operation = operations[name];
		if (typeof operation !== "function") throw new TypeError(`operations.${name} is not a function`);
		return operation.apply(operations, args);
	};
	const streams = new Streams();
	return {
		readFile: async (path: string) => base64(await own("readFile", path)),
		detectImageMimeType: async (path: string) => (await own("detectImageMimeType", path)) || null,
		openStream: (path: string) => {
			const stream = own("createReadStream", path, signal === undefined ? {} : { signal });
			return streams.add(stream as ReturnType<NonNullable<ReadOperations["createReadStream"]>>);
		},
		readStream: (id: number) => streams.read(id),
		closeStream: (id: number) => streams.close(id),
		isDirectory: async (path: string) => {
			if (typeof operations.isDirectory === "function") return Boolean(await own("isDirectory", path));
			const stat = (await own("stat", path)) as { isDirectory(): boolean };
			return stat.isDirectory();
		},
		exists: async (path: string) => Boolean(await own("exists", path)),
		readdir: async (path: string) => [...((await own("readdir", path)) as string[])],
		glob: async (...args: unknown[]) => [...((await own("glob", ...args)) as string[])],
		access: (path: string) => own("access", path),
		writeFile: (path: string, content: string) => own("writeFile", path, content),
		mkdir: (path: string) => own("mkdir", path),
	} as Record<string, Operation>;
}

function serve(functions: Record<string, Operation>): number {
	return currentRuntime().callbacks.add(async ([name, ...args]): Promise<Answer> => {
		try {
			const operation = functions[String(name)];
			if (operation === undefined) throw new TypeError(`${String(name)} is no operation`);
			return { value: await operation(...(args as never[])) };
		} catch (error) {
			return failure(error);
		}
	});
}

/** For every tool but `bash`. */
export function fileOperations(operations: object, signal: AbortSignal | undefined): OwnParts {
	const given = operations as Operations;
	return {
		operations: serve(named(given, signal)),
		offers: OPTIONAL.filter((name) => typeof given[name] === "function"),
	};
}

/** For `bash`. */
export function shellParts(operations: BashOperations | undefined, spawnHook: BashSpawnHook | undefined): OwnParts {
	if (operations !== undefined && typeof operations.exec !== "function")
		throw new TypeError("operations of a bash tool must have an exec function");
	const changed = (context: BashSpawnContext) => spawnHook?.(context) ?? context;
	return {
		...(operations === undefined ? {} : { shell: registerBashOperations(currentRuntime(), operations) }),
		...(spawnHook === undefined ? {} : { spawnHook: serve({ spawnHook: changed as Operation }) }),
	};
}
