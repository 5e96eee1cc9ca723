import { exec, spawn, spawnSync } from "node:child_process";
import { createHash, createHmac, randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import * as fs from "node:fs";
import { readFile } from "node:fs/promises";
import http from "node:http";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { WASI } from "node:wasi";
import { gunzipSync, gzipSync } from "node:zlib";

const server = process.env.PIER_TEST_SERVER;

async function wasi() {
	const output = path.join(import.meta.dirname, "wasi.txt");
	const fd = fs.openSync(output, "w");
	const guest = new WASI({ version: "preview1", args: ["guest", "one"], stdout: fd, returnOnExit: true });
	const module = await WebAssembly.compile(fs.readFileSync(path.join(import.meta.dirname, "guest.wasm")));
	const instance = await WebAssembly.instantiate(module, guest.getImportObject() as any);
	const exit = guest.start(instance);
	fs.closeSync(fd);
	return { exit, output: fs.readFileSync(output, "utf8") };
}

async function wasm() {
	const bytes = fs.readFileSync(path.join(import.meta.dirname, "answer.wasm"));
	const { instance } = await WebAssembly.instantiate(bytes);
	return (instance.exports.answer as () => number)();
}

function get(url: string): Promise<string> {
	return new Promise((resolve, reject) => {
		http
			.get(url, (response) => {
				let body = "";
				response.on("data", (chunk) => (body += chunk));
				response.on("end", () => resolve(JSON.parse(body).path));
			})
			.on("error", reject);
	});
}

function sqlite() {
	const database = new DatabaseSync(":memory:");
	database.exec("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)");
	database.prepare("INSERT INTO people (name) VALUES (?)").run("Ada");
	const rows = database.prepare("SELECT id, name FROM people").all();
	database.close();
	return rows.map((row: any) => ({ ...row }));
}

export default function (pi: any) {
	pi.registerTool({
		name: "check",
		label: "Check",
		description: "Reports what worked",
		parameters: { type: "object", properties: {} },
		async execute() {
			const file = path.join(import.meta.dirname, "out.txt");
			fs.writeFileSync(file, "written");
			const emitter = new EventEmitter();
			let events = "";
			emitter.on("e", (value) => (events = value));
			emitter.emit("e", "emitted");
			let stream = "";
			for await (const chunk of Readable.from(["a", "b", "c"])) stream += chunk;
			const child = spawn("sh", ["-c", "exit 3"]);
			const spawnExit = await new Promise((resolve) => child.on("close", resolve));
			const guest = await wasi();
			const before = performance.now();
			await sleep(10);
			const details = {
				fs: fs.readFileSync(file, "utf8"),
				fsPromises: await readFile(file, "utf8"),
				spawnSync: spawnSync("sh", ["-c", "printf out"], { encoding: "utf8" }).stdout,
				exec: (await promisify(exec)("printf 'async out'")).stdout,
				spawnExit,
				sha256: createHash("sha256").update("abc").digest("hex"),
				hmac: createHmac("sha256", "key").update("abc").digest("base64"),
				uuid: /^[0-9a-f-]{36}$/.test(randomUUID()),
				sqlite: sqlite(),
				fetch: (await (await fetch(`${server}/hello?x=1`)).json()).path,
				http: await get(`${server}/from-http`),
				wasiExit: guest.exit,
				wasiOutput: guest.output,
				wasm: await wasm(),
				gzip: gunzipSync(gzipSync("squeezed")).toString(),
				events,
				stream,
				buffer: Buffer.from("hi").toString("base64"),
				url: new URL("http://x/?a=q").searchParams.get("a"),
				timers: performance.now() - before >= 9,
			};
			return { content: [{ type: "text", text: "checked" }], details };
		},
	});
}
