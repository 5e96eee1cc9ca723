//! What an extension file may be written in and what it may import (`spec/extension-api.md` §1.1, §1.6).

mod support;

use serde_json::json;
use support::Package;

#[tokio::test]
async fn typescript_syntax_is_erased() {
    let package = Package::new();
    package.write(
        "helper.ts",
        "export const twice = (n: number): number => n * 2;",
    );
    package.write("data.json", r#"{"answer": 42}"#);
    package.write("note.txt", "plain text");
    package.write(
        "old.cjs",
        "exports.old = 'cjs'; exports['computed' + 1] = 1;",
    );
    let imports = r#"
import { twice } from "./helper.js";
import type { Nothing } from "./not-there.ts";
import { type Alone } from "./helper.ts";
import bare from "./data.json";
import attributed from "./data.json" with { type: "json" };
import text from "./note.txt" with { type: "text" };
import old = require("./old.cjs");
enum Color { Red = "red", Green = 2 }
namespace Space { export const inside = "inside"; }
class Point { constructor(public x: number, private readonly y = 3) {} sum() { return this.x + this.y; } }
const calls: string[] = [];
function logged(_target: any, name: string, descriptor: PropertyDescriptor) { calls.push(name); return descriptor; }
class Decorated { @logged method() { return 1; } }
const awaited = await Promise.resolve("top level");
void Decorated;
"#;
    let value = package
        .value(imports, "({ twice: twice(21), bare: bare.answer, attributed: attributed.answer, text, old: old.old, color: Color.Red, back: Color[2], space: Space.inside, sum: new Point(1).sum(), calls, awaited, dir: __dirname, meta: import.meta.dirname, req: typeof require })")
        .await;
    let dir = package
        .dir
        .path()
        .canonicalize()
        .expect("the directory exists");
    assert_eq!(
        value,
        json!({
            "twice": 42, "bare": 42, "attributed": 42, "text": "plain text", "old": "cjs", "color": "red", "back": "Green", "space": "inside",
            "sum": 4, "calls": ["method"], "awaited": "top level", "dir": dir, "meta": dir, "req": "function",
        })
    );
}

#[tokio::test]
async fn node_built_ins_work_with_and_without_prefix() {
    let package = Package::new();
    let imports = r#"
import fs from "fs";
import { createHash } from "node:crypto";
import { execFileSync } from "child_process";
import { DatabaseSync } from "node:sqlite";
import * as os from "node:os";
import { setTimeout as sleep } from "timers/promises";
const db = new DatabaseSync(":memory:");
db.exec("create table t (n integer)");
db.prepare("insert into t values (?)").run(7);
await sleep(1);
"#;
    let value = package
        .value(imports, r#"({ exists: fs.existsSync("/"), hash: createHash("sha256").update("a").digest("hex").slice(0, 8), echo: execFileSync("echo", ["hi"]).toString(), n: db.prepare("select n from t").get().n, platform: os.platform(), buffer: Buffer.from("x").length, argv: Array.isArray(process.argv) })"#)
        .await;
    assert_eq!(
        value,
        json!({ "exists": true, "hash": "ca978112", "echo": "hi\n", "n": 7, "platform": "linux", "buffer": 1, "argv": true })
    );
}

#[tokio::test]
async fn packages_resolve_by_their_conditions() {
    let package = Package::new();
    package.write("node_modules/import-only/package.json", r#"{"name":"import-only","exports":{".":{"import":"./index.mjs"},"./sub":{"import":"./sub.mjs"}}}"#);
    package.write(
        "node_modules/import-only/index.mjs",
        "export const kind = 'import-only';",
    );
    package.write(
        "node_modules/import-only/sub.mjs",
        "export const sub = 'sub';",
    );
    package.write(
        "node_modules/cjs/package.json",
        r#"{"name":"cjs","main":"lib"}"#,
    );
    package.write("node_modules/cjs/lib/index.js", "const inner = require('./inner'); module.exports = { named: 'n', inner }; module.exports.late = 1;");
    package.write("node_modules/cjs/lib/inner.js", "module.exports = 'inner';");
    package.write(
        "node_modules/reexport/package.json",
        r#"{"name":"reexport","main":"index.js"}"#,
    );
    package.write(
        "node_modules/reexport/index.js",
        "module.exports = require('cjs');",
    );
    package.write(
        "package.json",
        r##"{"name":"p","type":"module","imports":{"#x":"./x.ts"}}"##,
    );
    package.write("x.ts", "export default 'private';");
    let imports = r##"
import { kind } from "import-only";
import { sub } from "import-only/sub";
import cjs, { named, late } from "cjs";
import * as reexport from "reexport";
import { createRequire } from "node:module";
import x from "#x";
const required = createRequire(import.meta.url)("cjs");
const dynamic = await import("import-only");
"##;
    let value = package
        .value(imports, "({ kind, sub, named, late, inner: cjs.inner, same: required === cjs, again: reexport.default === cjs, dynamic: dynamic.kind, x })")
        .await;
    assert_eq!(
        value,
        json!({ "kind": "import-only", "sub": "sub", "named": "n", "late": 1, "inner": "inner", "same": true, "again": true, "dynamic": "import-only", "x": "private" })
    );
}

#[tokio::test]
async fn host_modules_win_and_are_one_instance() {
    let package = Package::new();
    package.write(
        "node_modules/typebox/package.json",
        r#"{"name":"typebox","main":"index.js"}"#,
    );
    package.write(
        "node_modules/typebox/index.js",
        "throw new Error('the installed copy was loaded');",
    );
    package.write(
        "node_modules/dep/package.json",
        r#"{"name":"dep","main":"index.js"}"#,
    );
    package.write(
        "node_modules/dep/index.js",
        "exports.Type = require('typebox').Type;",
    );
    let imports = r#"
import { Type } from "typebox";
import { Text } from "@earendil-works/pi-tui";
import { Text as OldText } from "@mariozechner/pi-tui";
import { Type as FromDep } from "dep";
"#;
    let value = package.value(imports, "({ type: Type.String().type, same: Text === OldText, dep: FromDep === Type, lines: new Text('hi', 0, 0).render(10).length })").await;
    assert_eq!(
        value,
        json!({ "type": "string", "same": true, "dep": true, "lines": 1 })
    );
}

#[tokio::test]
async fn a_missing_host_export_throws_only_when_used() {
    let package = Package::new();
    let imports = r#"
import { Text, notThere, neitherThis } from "@earendil-works/pi-tui";
let message = "";
try { (notThere as any)(); } catch (error) { message = (error as Error).message; }
"#;
    let value = package
        .value(
            imports,
            "({ text: typeof Text, message, other: typeof neitherThis })",
        )
        .await;
    assert_eq!(
        value,
        json!({ "text": "function", "message": "\"notThere\" is not available from @earendil-works/pi-tui in this host", "other": "function" })
    );
    let names = package
        .host
        .fault(|fault| match fault {
            pier_engine::IsolateFault::MissingExports { names, .. } => Some(names.clone()),
            _ => None,
        })
        .await;
    assert_eq!(names, ["notThere", "neitherThis"]);
}

#[tokio::test]
async fn an_entry_behind_a_link_finds_its_siblings() {
    let package = Package::new();
    package.write(
        "store/ext/index.ts",
        "import { here } from './sibling.js'; export default (pi: any) => pi.setLabel(here);",
    );
    package.write("store/ext/sibling.ts", "export const here = 'found';");
    let link = package.dir.path().join("linked.ts");
    std::os::unix::fs::symlink(package.dir.path().join("store/ext/index.ts"), &link)
        .expect("a link");
    let entry = link.canonicalize().expect("the link has a target");
    let registrations = package.load(&entry).await.expect("it loads");
    assert_eq!(registrations["label"], "found");
}

#[tokio::test]
async fn webassembly_runs() {
    let package = Package::new();
    // (module (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add))
    let imports = r#"
const bytes = new Uint8Array([0,97,115,109,1,0,0,0,1,7,1,96,2,127,127,1,127,3,2,1,0,7,7,1,3,97,100,100,0,0,10,9,1,7,0,32,0,32,1,106,11]);
const { instance } = await WebAssembly.instantiate(bytes);
"#;
    let value = package
        .value(imports, "(instance.exports.add as any)(20, 22)")
        .await;
    assert_eq!(value, json!(42));
}

#[tokio::test]
async fn functions_in_the_snapshot_have_their_own_source() {
    let package = Package::new();
    let imports = r#"
const wrong: string[] = [];
for (const name of ["path", "events", "util", "url", "os", "buffer", "fs", "child_process", "stream", "module", "fs/promises", "timers", "readline", "string_decoder", "assert", "zlib"]) {
	const exports = await import("node:" + name);
	for (const [key, value] of Object.entries({ ...exports.default, ...exports })) {
		if (typeof value !== "function" || !value.name || value.name === "default") continue;
		const text = Function.prototype.toString.call(value);
		if (!/^(async )?(function\b|class\b|\(|get \w|\*?\[?[\w$]+\]?\s*\(|[\w$]+\s*=>)/.test(text)) wrong.push(`${name}.${key}: ${text.slice(0, 40)}`);
	}
}
"#;
    let value = package.value(imports, "wrong").await;
    assert_eq!(value, json!([]));
}

#[tokio::test]
async fn host_modules_outside_the_snapshot_load_on_demand() {
    let package = Package::new();
    let imports = r#"
import * as direct from "@earendil-works/pi-ai/api/openai-completions";
import { openAIResponsesApi, createAssistantMessageEventStream } from "@earendil-works/pi-ai";
const model = { id: "m", name: "m", api: "openai-responses", provider: "p", baseUrl: "http://127.0.0.1:9/v1", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 10 };
// The implementation is imported when the first stream starts; nothing listens at the port.
const answer = await (openAIResponsesApi() as any).stream(model, { messages: [{ role: "user", content: "x", timestamp: 0 }] }, { apiKey: "k", maxRetries: 0 }).result();
"#;
    let value = package
        .value(imports, "({ direct: Object.keys(direct).length > 0, reason: answer.stopReason, missing: /Cannot find module/.test(answer.errorMessage), stream: typeof createAssistantMessageEventStream })")
        .await;
    assert_eq!(
        value,
        json!({ "direct": true, "reason": "error", "missing": false, "stream": "function" })
    );
}
