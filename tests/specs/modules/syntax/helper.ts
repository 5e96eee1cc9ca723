// Imported as "./helper.js": the file on disk is TypeScript.
export function helper(): string {
	return "helper" as const;
}
