import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const run = promisify(execFile);
/** What a program prints; its input is closed, because an agent reads it to the end. */
async function output(program: string, args: string[]): Promise<string> {
	const running = run(program, args);
	running.child.stdin?.end();
	return (await running).stdout;
}

const OPTIONS = ["--mode", "json", "--no-session", "-ne", "-p"];

function answer(lines: string): string {
	const events = lines.trim().split("\n").map((line) => JSON.parse(line));
	const end = events.findLast((event) => event.type === "message_end" && event.message.role === "assistant");
	return end.message.content[0].text;
}

export default function (pi: any) {
	pi.registerCommand("try", {
		description: "Starts the agent again",
		handler: async () => {
			const [, script] = process.argv;
			console.log(`as a program: ${answer(await output(script, [...OPTIONS, "one"]))}`);
			console.log(`as a script: ${answer(await output(process.execPath, [script, ...OPTIONS, "two"]))}`);
			const rpc = spawn(script, ["--mode", "rpc", "--no-session", "-ne"], { stdio: ["pipe", "pipe", "ignore"] });
			rpc.stdin.write('{"id":"s","type":"get_state"}\n');
			for await (const line of createInterface({ input: rpc.stdout })) {
				const record = JSON.parse(line);
				if (record.type !== "response") continue;
				console.log(`rpc: ${record.type} ${record.command} ${record.success}`);
				rpc.stdin.end();
			}
			const own = `${process.env.PI_CODING_AGENT} ${process.env.AI_AGENT}`;
			const { stdout } = await pi.exec("sh", ["-c", 'printf "%s %s" "$PI_CODING_AGENT" "$AI_AGENT"']);
			console.log(`variables: ${own} / ${stdout}`);
		},
	});
}
