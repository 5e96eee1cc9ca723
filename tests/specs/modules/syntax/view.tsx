const h = (tag: string, _attributes: unknown, ...children: string[]) => `<${tag}>${children.join("")}</${tag}>`;
const React = { createElement: h };

export function bold(text: string): string {
	return (<b>{text}</b>) as unknown as string;
}
void React;
