type Anything = { [key: string]: unknown };

enum Depth {
	Bottom = 1,
}

export function deep(_value: Anything | object): never {
	throw new Error(`at ${Depth.Bottom}`);
}
