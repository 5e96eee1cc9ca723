import { appendFileSync } from "node:fs";

/** Adds a line to a log; absent parts are left out. */
export const logger = (file: string) => (...parts: unknown[]) =>
	appendFileSync(file, `${parts.filter((part) => part !== undefined).join(" ")}\n`);

/** The word `name` where there is a value. */
export const given = (name: string, value: unknown) => (value === undefined || value === null ? undefined : name);
