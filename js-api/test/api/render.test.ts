// Renderers (§6.5, §7.4, §7.5).

import assert from "node:assert/strict";
import { test } from "node:test";
import { currentTheme, Theme } from "../../src/api/theme.ts";
import { type Any, bind, fixture, load } from "./fake-host.ts";

async function extension(factory: (pi: Any) => void, profile: "pi" | "xcsh" = "pi") {
	const { host, runtime } = fixture();
	await load(host, factory, { profile });
	await bind(host, { mode: "tui", hasUI: true });
	const call = (extra: object = {}, payload: object = {}) =>
		host.send(
			"render",
			{ ext: 1, what: "toolCall", width: 20, ...extra },
			{ tool: "t", toolCallId: "c1", args: { path: "a.ts" }, ...payload },
		);
	return { host, runtime, call };
}

const text = (line: string) => ({ render: (width: number) => [line.slice(0, width)], invalidate() {} });
const base = { name: "t", parameters: {}, execute: () => ({ content: [] }) };

test("renderCall written for any of the three signatures draws", async () => {
	const theme = currentTheme();
	const shapes: ((...args: Any[]) => unknown)[] = [
		(args, t) => text(t.fg("accent", args.path)),
		(args, options, t) => text(`${options.expanded} ${t.bold(args.path)}`),
		(_args, t, context) => text(`${t instanceof Theme} ${context.toolCallId} ${context.args.path} ${context.expanded}`),
	];
	const expected = [theme.fg("accent", "a.ts").slice(0, 40), `true ${theme.bold("a.ts")}`, "true c1 a.ts true"];
	for (const [index, renderCall] of shapes.entries()) {
		const { call } = await extension((pi) => pi.registerTool({ ...base, renderCall }));
		assert.deepEqual(await call({ expanded: true, width: 60 }), { lines: [expected[index]] });
	}
});

test("renderResult gets a pure theme, and a context that also shows the arguments", async () => {
	let seen: Any[] = [];
	const { host, call } = await extension((pi) =>
		pi.registerTool({
			...base,
			execute: () => ({ content: [], details: { map: new Map([["k", 1]]) } }),
			renderResult: (...args: Any[]) => {
				seen = args;
				return text("done");
			},
		}),
	);
	await host.send("executeTool", { ext: 1, tool: "t", toolCallId: "c1", callId: 1 }, {});
	const drawn = await call(
		{ what: "toolResult", isPartial: false },
		{ result: { content: [], details: { map: {} } }, isError: true },
	);
	assert.deepEqual(drawn, { lines: ["done"] });
	const [result, options, theme, context] = seen;
	assert.ok(result.details.map instanceof Map, "the details are the tool's own objects");
	assert.deepEqual([options.expanded, options.isPartial], [false, false]);
	assert.equal(theme, currentTheme());
	assert.deepEqual([context.path, context.args.path, context.isError, context.cwd], ["a.ts", "a.ts", true, "/project"]);
	await host.send("release", { toolCalls: ["c1"] });
	await call({ what: "toolResult" }, { result: { content: [], details: { map: {} } } });
	assert.equal(seen[0].details.map instanceof Map, false);
});

test("on a name clash the profile decides", async () => {
	for (const [profile, expected] of [
		["pi", false],
		["xcsh", "arg"],
	] as const) {
		let seen: Any;
		const { call } = await extension(
			(pi) =>
				pi.registerTool({
					...base,
					renderResult: (_r: Any, _o: Any, _t: Any, c: Any) => {
						seen = c.expanded;
						return text("");
					},
				}),
			profile,
		);
		await call({ what: "toolResult" }, { args: { expanded: "arg" } });
		assert.equal(seen, expected);
	}
});

test("state is shared by both renderers of a call, lastComponent is each one's own", async () => {
	const components = { call: text("call"), result: text("result") };
	const last: Any[] = [];
	const { host, call } = await extension((pi) =>
		pi.registerTool({
			...base,
			renderCall: (_a: Any, _t: Any, c: Any) => {
				last.push(c.lastComponent);
				c.state.n = (c.state.n ?? 0) + 1;
				c.invalidate();
				return components.call;
			},
			renderResult: (_r: Any, _o: Any, _t: Any, c: Any) => {
				last.push(c.lastComponent);
				return text(`n=${c.state.n}`);
			},
		}),
	);
	await call();
	await call();
	assert.deepEqual(await call({ what: "toolResult" }), { lines: ["n=2"] });
	assert.deepEqual(last, [undefined, components.call, undefined]);
	assert.deepEqual(host.named("render.invalidate")[0], { ext: 1, toolCallId: "c1" });
});

test("missing renderers, empty answers and throws leave the drawing to the host", async () => {
	const none = await extension((pi) => pi.registerTool(base));
	assert.equal(await none.call(), undefined);
	const empty = await extension((pi) => pi.registerTool({ ...base, renderCall: () => undefined }));
	assert.equal(await empty.call(), undefined);
	const bad = await extension((pi) =>
		pi.registerTool({
			...base,
			renderCall() {
				throw new Error("cannot draw");
			},
		}),
	);
	assert.equal(await bad.call(), undefined);
	assert.deepEqual(
		[bad.host.named("error")[0].event, bad.host.named("error")[0].message],
		["render:toolCall", "cannot draw"],
	);
});

test("a tool renderer resolver wraps the extension's own renderers", async () => {
	const { call } = await extension((pi) => {
		pi.registerTool({ ...base, renderCall: () => text("inner") });
		pi.registerToolRenderer((name: string, next: Any) =>
			name === "t"
				? {
						renderCall: (...args: Any[]) =>
							text(
								`outer(${
									next()
										.renderCall(...args)
										.render(9)[0]
								})`,
							),
					}
				: undefined,
		);
	});
	assert.deepEqual(await call(), { lines: ["outer(inner)"] });
});

test("message and entry renderers", async () => {
	const { host } = await extension((pi) => {
		pi.registerMessageRenderer("note", (message: Any, { expanded }: Any, theme: Any) =>
			text(theme.fg("nope", `${message.content} ${expanded}`)),
		);
		pi.registerEntryRenderer("log", (entry: Any) => text(`entry ${entry.data}`));
	});
	const draw = (what: string, payload: object) =>
		host.send("render", { ext: 1, what, width: 30, expanded: true }, payload);
	assert.deepEqual(await draw("message", { message: { customType: "note", content: "hi" } }), { lines: ["hi true"] });
	assert.deepEqual(await draw("entry", { entry: { customType: "log", data: 5 } }), { lines: ["entry 5"] });
	assert.equal(await draw("message", { message: { customType: "other" } }), undefined);
});

test("markdown transformer: by type, unchanged on failure", async () => {
	let broken = false;
	const { host } = await extension((pi) =>
		pi.registerMarkdownTransformer(
			(markdown: string) => {
				if (broken) throw new Error("bad");
				return markdown.toUpperCase();
			},
			{ messageTypes: ["assistant"] },
		),
	);
	const transform = (messageType: string) =>
		host.send("transformMarkdown", { ext: 1 }, { markdown: "hi", context: { messageType } });
	assert.equal(await transform("assistant"), "HI");
	assert.equal(await transform("user"), "hi");
	broken = true;
	assert.equal(await transform("assistant"), "hi");
	assert.equal(host.named("error")[0].event, "render:markdown");
});
