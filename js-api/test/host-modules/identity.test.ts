// One copy of everything in a realm: classes and namespaces are the same objects through every module.

import assert from "node:assert/strict";
import { test } from "node:test";
import { importBuilt, manifest } from "./built.ts";

const TUI = {
	requestRender() {},
	terminal: { rows: 24, columns: 80 },
};

test("components are instances of the component library's classes, whichever module gave them", async () => {
	const tui = await importBuilt("@earendil-works/pi-tui");
	const sdk = await importBuilt("@f5-sales-demo/xcsh");
	assert.equal(sdk.Text, tui.Text);
	assert.equal(sdk.Container, tui.Container);
	assert.equal(sdk.Markdown, tui.Markdown);
	const theme = new sdk.Theme();
	const loader = new sdk.BorderedLoader(TUI, theme, "Working");
	assert.ok(loader instanceof tui.Container);
	loader.dispose();
	const editor = new sdk.CustomEditor(TUI, sdk.getEditorTheme(), tui.getKeybindings());
	assert.ok(editor instanceof tui.Editor);
	assert.ok(new sdk.CustomEditor(sdk.getEditorTheme()) instanceof tui.Editor);
	assert.ok(
		new sdk.ExtensionSelectorComponent(
			"t",
			["a"],
			() => {},
			() => {},
		) instanceof tui.Container,
	);
});

test("names of classes survive the build", async () => {
	const sdk = await importBuilt("@earendil-works/pi-coding-agent");
	const tui = await importBuilt("@earendil-works/pi-tui");
	for (const name of ["Theme", "BorderedLoader", "CustomEditor", "DynamicBorder", "SessionManager", "ModelRegistry"]) {
		assert.equal(sdk[name].name, name);
	}
	for (const name of ["Text", "Box", "Container", "Editor", "Markdown", "Input", "SelectList", "SettingsList"]) {
		assert.equal(tui[name].name, name);
	}
	assert.equal(sdk.ExtensionRuntimeNotInitializedError.name, "ExtensionRuntimeNotInitializedError");
	assert.equal(new sdk.ExtensionRuntimeNotInitializedError().name, "Error");
});

test("both major versions of TypeBox are there, and the model library uses the current one", async () => {
	const current = await importBuilt("typebox");
	const old = await importBuilt("@sinclair/typebox");
	const ai = await importBuilt("@oh-my-pi/pi-ai");
	assert.equal(ai.Type, current.Type);
	assert.notEqual(old.Type, current.Type);
	assert.ok(old.Kind in old.Type.String());
	const schema = old.Type.Object({ a: old.Type.Optional(old.Type.String()), b: old.Type.Number() });
	assert.deepEqual(JSON.parse(JSON.stringify(schema)).required, ["b"]);
	const { Value } = await importBuilt("@sinclair/typebox/value");
	assert.equal(Value.Check(schema, { b: 1 }), true);
	assert.equal(Value.Check(schema, { b: "1" }), false);
	const { Compile } = await importBuilt("typebox/compile");
	assert.equal(Compile(current.Type.Object({ b: current.Type.Number() })).Check({ b: "1" }), false);
});

test("the model library's event stream is one class", async () => {
	const root = await importBuilt("@earendil-works/pi-ai");
	const utility = await importBuilt("@earendil-works/pi-ai/utils/event-stream");
	assert.equal(root.AssistantMessageEventStream, utility.AssistantMessageEventStream);
	assert.ok(root.createAssistantMessageEventStream() instanceof utility.AssistantMessageEventStream);
	const protocol = await importBuilt("@earendil-works/pi-ai/api/anthropic-messages");
	assert.equal(typeof protocol.streamSimple, "function");
});

interface TestHost {
	handler?: (kind: string, header: string, payload?: string) => unknown;
	[name: string]: unknown;
}

test("the core installs the handler, and an extension gets the very module objects that it can import", async () => {
	const shared = globalThis as unknown as Record<symbol, TestHost>;
	const key = Symbol.for("pier.test.host");
	shared[key] ??= {};
	const host = shared[key];
	await import(`${manifest.base}core.js`);
	// biome-ignore lint/suspicious/noExplicitAny: the API object of an extension.
	let api: any;
	let tooEarly: unknown;
	host.importModule = async (specifier: string) => {
		assert.equal(specifier, "file:///project/extension.ts");
		return {
			// biome-ignore lint/suspicious/noExplicitAny: as above.
			default(pi: any) {
				api = pi;
				try {
					pi.getActiveTools();
				} catch (error) {
					tooEarly = error;
				}
			},
		};
	};
	host.hostCall = () => undefined;
	const header = {
		ext: 1,
		entry: "file:///project/extension.ts",
		path: "/project/extension.ts",
		profile: "xcsh",
		cwd: "/project",
		configDirName: ".test",
		agentDir: "/home/someone/.test/agent",
		appName: "test",
		version: "1.2.3",
	};
	await host.handler?.("load", JSON.stringify(header));
	const sdk = await importBuilt("@f5-sales-demo/pi-coding-agent");
	assert.equal(api.pi, sdk);
	const other = await importBuilt("@earendil-works/pi-coding-agent");
	assert.deepEqual(
		Object.keys(sdk).filter((name) => sdk[name] !== other[name]),
		["serializeConversation"],
	);
	assert.equal(api.typebox, await importBuilt("@sinclair/typebox"));
	assert.equal(sdk.VERSION, "1.2.3");
	assert.equal(sdk.CONFIG_DIR_NAME, ".test");
	assert.equal(sdk.getAgentDir(), "/home/someone/.test/agent");
	const utils = await importBuilt("@oh-my-pi/pi-utils");
	assert.equal(utils.getProjectDir(), "/project");
	assert.ok(tooEarly instanceof sdk.ExtensionRuntimeNotInitializedError);
});
