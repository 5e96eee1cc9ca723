import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import path = require("node:path");
import cjsRequired = require("cjs-dep");
import os from "os";
import { createRequire } from "node:module";
import { type Static, Type } from "typebox";
import cjs, { named } from "cjs-dep";
import { only } from "import-only";
import bare from "./data.json";
import attributed from "./data.json" with { type: "json" };
import text from "./note.txt" with { type: "text" };
import { helper } from "./helper.js";
import { mapped } from "#mapped";
import { bold } from "./view.tsx";

enum Color {
	Red = 1,
	Green,
}
const enum Letter {
	X = "x",
}

namespace Outer {
	export namespace Inner {
		export const value: string = "inside";
	}
}

let methodCalls = 0;

// Decorators of either generation: the older one gets the descriptor, the standard one a context object.
function marked(target: any, _context?: any): any {
	target.marked = true;
	return target;
}
function counted(first: any, second: any, descriptor?: PropertyDescriptor): any {
	const original = descriptor ? descriptor.value : first;
	const wrapped = function (this: unknown, ...args: unknown[]) {
		methodCalls++;
		return original.apply(this, args);
	};
	if (!descriptor) return wrapped;
	descriptor.value = wrapped;
	return descriptor;
}

@marked
class Holder {
	#hidden = 5;
	constructor(
		private readonly kept: string,
		public missing?: string,
	) {}

	@counted
	get2(): string {
		return this.kept;
	}

	hidden(): number {
		return this.#hidden;
	}
}

const awaited = await new Promise<string>((resolve) => setTimeout(() => resolve("awaited"), 5));
const dynamic = await import("import-only");
const require2 = createRequire(import.meta.url);
const parameters = Type.Object({});
const three = { n: 3 } satisfies { n: number };

export default async function (pi: ExtensionAPI): Promise<void> {
	pi.registerTool({
		name: "check",
		label: "Check",
		description: "Reports what worked",
		parameters,
		async execute(_id: string, _params: Static<typeof parameters>) {
			const holder = new Holder("kept");
			const details = {
				enumValue: Color.Green,
				enumName: Color[2],
				constEnum: Letter.X,
				namespace: Outer.Inner.value,
				parameterProperty: holder.get2(),
				classDecorated: (Holder as any).marked === true,
				methodCalls,
				importEquals: path.join("/a", "b"),
				importEqualsPackage: cjsRequired.kind,
				jsonBare: bare.number,
				jsonAttributes: attributed.number,
				text,
				topLevelAwait: awaited,
				cjsDefault: typeof cjs,
				cjsNamed: named,
				cjsIdentity: require2("cjs-dep") === cjs && cjsRequired === cjs,
				importOnly: only,
				importOnlyDynamic: dynamic.only === only,
				jsIsTs: helper(),
				required: require2("./required.cjs").text,
				dirname: __dirname === import.meta.dirname,
				filename: __filename.endsWith("main.ts"),
				metaUrl: import.meta.url.startsWith("file:///") && import.meta.url.endsWith("/main.ts"),
				metaDirname: path.basename(import.meta.dirname) === "work",
				resolve: import.meta.resolve("./helper.js").startsWith("file://"),
				satisfies: three.n,
				optional: holder.missing ?? "none",
				privateField: holder.hidden(),
				bareBuiltin: os.EOL === "\n",
				subpath: mapped,
				tsx: bold("bold"),
			};
			return { content: [{ type: "text", text: "checked" }], details };
		},
	});
}
