// What can be read of JSON text that is still arriving: the arguments of a tool call while it streams.

/** Where the text stands inside one open container. */
interface Open {
	close: "}" | "]";
	/** An object's member: its key, the value behind the colon, or neither. */
	step: "key" | "colon" | "value" | "comma";
}

const LITERALS = ["true", "false", "null"];
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The text without a broken escape at its end. */
function withoutOpenEscape(text: string): string {
	return text.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, (cut, at: number) => {
		let slashes = 0;
		while (text[at - 1 - slashes] === "\\") slashes++;
		return slashes % 2 === 0 ? "" : cut;
	});
}

/** A number or literal that may be unfinished, as one that is complete; `undefined` when nothing of it counts. */
function finishedScalar(text: string): string | undefined {
	const literal = LITERALS.find((known) => known.startsWith(text));
	if (literal !== undefined) return literal;
	for (let end = text.length; end > 0; end--) {
		if (NUMBER.test(text.slice(0, end))) return text.slice(0, end);
	}
	return undefined;
}

/** The object that the text begins, as far as it goes; `{}` for one that is no object. Never throws. */
export function partialObject(text: string): Record<string, unknown> {
	const open: Open[] = [];
	/** Everything up to here can be closed. */
	let safe = 0;
	let ending = "";
	let index = 0;
	const closers = () =>
		open
			.map(({ close }) => close)
			.reverse()
			.join("");
	const valueEnds = (end: number) => {
		const top = open.at(-1);
		if (top !== undefined) top.step = "comma";
		safe = end;
		ending = closers();
	};
	while (index < text.length) {
		const char = text[index] as string;
		const top = open.at(-1);
		if (char === '"') {
			let end = index + 1;
			while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
			const isKey = top?.close === "}" && top.step === "key";
			if (end >= text.length) {
				if (!isKey) return parsed(`${withoutOpenEscape(text)}"${closers()}`);
				break;
			}
			index = end + 1;
			if (isKey) top.step = "colon";
			else valueEnds(index);
		} else if (char === "{" || char === "[") {
			open.push(char === "{" ? { close: "}", step: "key" } : { close: "]", step: "value" });
			index++;
			safe = index;
			ending = closers();
		} else if (char === "}" || char === "]") {
			open.pop();
			index++;
			valueEnds(index);
			if (open.length === 0) break;
		} else if (char === ":" || char === ",") {
			if (top !== undefined) top.step = char === ":" || top.close === "]" ? "value" : "key";
			index++;
		} else if (/\s/.test(char)) {
			index++;
		} else {
			let end = index;
			while (end < text.length && !/[\s,\]}]/.test(text[end] as string)) end++;
			if (end === text.length) {
				const scalar = finishedScalar(text.slice(index));
				if (scalar === undefined) break;
				return parsed(text.slice(0, index) + scalar + closers());
			}
			index = end;
			valueEnds(index);
		}
	}
	return parsed(text.slice(0, safe) + ending);
}

function parsed(text: string): Record<string, unknown> {
	try {
		const value: unknown = JSON.parse(text);
		return value !== null && typeof value === "object" && !Array.isArray(value)
			? (value as Record<string, unknown>)
			: {};
	} catch {
		return {};
	}
}
