/**
 * The program of docs/rpc-client.md, as it stands there: the compiler takes it, and it does what the page says. The shorter examples there and in
 * docs/rpc.md compile.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { step } from "./support.mjs";

const { PIER_BIN, PIER_REPOSITORY } = process.env;
const [program, ...fragments] = ["rpc-client.md", "rpc.md"].flatMap((name) => {
	const page = readFileSync(join(PIER_REPOSITORY, "docs", name), "utf8");
	return [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code);
});
/** Those without an import are about a `client` that is there already. */
const fragment = (code) =>
	code.startsWith("import ")
		? code
		: `import { PierClient } from "@pier/js-api/client";\nexport async function example(client: PierClient) {\n${code}}\n`;

await step("the examples compile", async () => {
	assert.ok(fragments.length >= 4, `the pages have ${fragments.length} short examples`);
	const files = ["example.ts", ...fragments.map((_, index) => `fragment-${index}.ts`)];
	for (const [index, code] of [program, ...fragments.map(fragment)].entries()) writeFileSync(files[index], code);
	const installed = join(PIER_REPOSITORY, "js-api/node_modules");
	const args = "--strict --target es2022 --module nodenext --types node".split(" ");
	const tsc = spawnSync(
		process.execPath,
		[join(installed, "typescript/bin/tsc"), ...args, "--typeRoots", join(installed, "@types"), ...files],
		{ encoding: "utf8" },
	);
	assert.equal(tsc.status, 0, tsc.stdout + tsc.stderr);
});

/** Runs it with what a person types, and gives what it prints. */
async function run(prompt, typed = "") {
	const env = { ...process.env, PATH: `${process.cwd()}/bin:${process.env.PATH}` };
	const child = spawn(process.execPath, ["example.js", prompt], { env, stdio: ["pipe", "pipe", "inherit"] });
	let printed = "";
	child.stdout.setEncoding("utf8").on("data", (text) => {
		printed += text;
		if (printed.endsWith("[y/n] ") || printed.endsWith("right ")) child.stdin.write(typed);
	});
	const [code] = await once(child, "close");
	return [code, printed];
}

await step("an answer, a tool of the client, dialogs, a failure", async () => {
	mkdirSync("bin");
	symlinkSync(PIER_BIN, "bin/pier");
	assert.deepEqual(await run("Hello"), [0, "echo: Hello\n(11 characters)\n"]);
	assert.deepEqual(await run("@tool selection {}"), [
		0,
		"[selection]\nresults: selection=let x = 1;\n(29 characters)\n",
	]);
	assert.match((await run('@tool ask {"kind":"confirm"}', "y\n"))[1], /Go on\? There is no way back \[y\/n\] .*confirm gave true/s);
	assert.match((await run('@tool ask {"kind":"select"}', "2\n"))[1], /1\) left  2\) right .*select gave "right"/s);
	const [code, printed] = await run("/greet Ada");
	assert.deepEqual([code, printed], [0, "* hello Ada\n\n(0 characters)\n"]);
	assert.equal((await run("@error no luck"))[0], 0);
});
