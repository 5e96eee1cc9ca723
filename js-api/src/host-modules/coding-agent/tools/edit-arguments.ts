// Other spellings of the `edit` tool's arguments (agent-loop §10).

function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Other spellings that models use: `edits` as JSON text or as one object, and `oldText`/`newText` beside `path`. */
export function prepareEditArguments(raw: unknown): unknown {
	if (!isRecord(raw)) return raw;
	const { oldText, newText, ...rest } = raw;
	let edits: unknown = rest.edits;
	if (typeof edits === "string") {
		try {
			edits = JSON.parse(edits);
		} catch {
			return raw;
		}
	}
	if (isRecord(edits)) edits = [edits];
	if (typeof oldText === "string" && typeof newText === "string") {
		edits = [...(Array.isArray(edits) ? edits : []), { oldText, newText }];
	}
	return edits === undefined ? raw : { ...rest, edits };
}
