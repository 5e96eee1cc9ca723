// `pi.logger`: writes to the host's log, never to a terminal. A log call never throws.

import { hostCall } from "../host.ts";
import { isObjectLike, toJsonValue } from "./json.ts";

type Context = Record<string, unknown>;

export interface Logger {
	error(message: string, context?: Context): void;
	warn(message: string, context?: Context): void;
	info(message: string, context?: Context): void;
	debug(message: string, context?: Context): void;
	/** Runs `fn` and logs how long it took. Without a function it marks a point in time for `printTimings`. */
	time<T>(label: string, fn?: () => T): T | undefined;
	startTiming(label?: string): void;
	endTiming(label?: string): void;
	printTimings(): void;
}

/** Extension number of log lines that no extension wrote. */
export const NO_EXTENSION = 0;

export function createLogger(ext: number): Logger {
	const timings: { label: string; ms: number }[] = [];
	const open = new Map<string, number>();

	const write = (level: string, message: unknown, context: unknown) => {
		try {
			const json = isObjectLike(context) ? toJsonValue(context, "log context") : undefined;
			hostCall("log", { ext, level, message: String(message), ...(json === undefined ? {} : { context: json }) });
		} catch {
			// A log line that cannot be written must not break the code that wrote it.
		}
	};

	const measured = <T>(label: string, fn: () => T): T => {
		const start = performance.now();
		const done = () => timings.push({ label, ms: performance.now() - start });
		const outcome = fn();
		if (outcome instanceof Promise) return outcome.finally(done) as T;
		done();
		return outcome;
	};

	return {
		error: (message, context) => write("error", message, context),
		warn: (message, context) => write("warn", message, context),
		info: (message, context) => write("info", message, context),
		debug: (message, context) => write("debug", message, context),
		time: (label, fn) => {
			if (typeof fn === "function") return measured(label, fn);
			timings.push({ label, ms: 0 });
			return undefined;
		},
		startTiming: (label = "default") => {
			open.set(label, performance.now());
		},
		endTiming: (label = "default") => {
			const start = open.get(label);
			if (start === undefined) return;
			open.delete(label);
			timings.push({ label, ms: performance.now() - start });
		},
		printTimings: () => {
			for (const { label, ms } of timings) write("debug", `${label}: ${ms.toFixed(1)} ms`, undefined);
		},
	};
}
