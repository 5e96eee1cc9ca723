// Methods that only the oh-my-pi and xcsh editions have, added to the library's own classes so that every instance has them.

import { Input, Text } from "@earendil-works/pi-tui";

/** Adds a method unless a later version of the library brings its own. */
function addMethod(prototype: object, name: string, method: (...args: never[]) => unknown): void {
	if (name in prototype) return;
	Object.defineProperty(prototype, name, { value: method, configurable: true, writable: true });
}

addMethod(Text.prototype, "getText", function (this: { text?: string }): string {
	return this.text ?? "";
});

const masked = new WeakSet<object>();

addMethod(Input.prototype, "setMasked", function (this: Input, on: boolean): void {
	if (on) masked.add(this);
	else masked.delete(this);
});

const renderInput = Input.prototype.render;
/** Made at first use: a V8 snapshot cannot hold ICU objects. */
let graphemes: Intl.Segmenter | undefined;

function graphemeCount(text: string): number {
	graphemes ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
	return [...graphemes.segment(text)].length;
}

/** A masked input draws one bullet for each grapheme of its value; editing still sees the value. */
Input.prototype.render = function (this: Input, width: number): string[] {
	if (!masked.has(this)) return renderInput.call(this, width);
	const inner = this as unknown as { value: string; cursor: number };
	const { value, cursor } = inner;
	inner.value = "•".repeat(graphemeCount(value));
	inner.cursor = graphemeCount(value.slice(0, cursor));
	try {
		return renderInput.call(this, width);
	} finally {
		inner.value = value;
		inner.cursor = cursor;
	}
};
