import fs from "node:fs";
import { join } from "node:path";
import { SessionManager } from "@earendil-works/pi-coding-agent";

const mode = (path: string) => (fs.statSync(path).mode & 0o777).toString(8);
const lines = (path: string) => fs.readFileSync(path, "utf8").split("\n").length - 1;

export default function (pi: any) {
	pi.registerCommand("try", {
		handler: async (_args: string, ctx: any) => {
			const directory = join(ctx.cwd, "sessions", "deep");
			const manager: any = SessionManager.create(ctx.cwd, directory);
			const file = manager.getSessionFile();
			manager.appendThinkingLevelChange("low");
			console.log(`before a message: ${fs.existsSync(file)}`);
			const first = manager.appendMessage({ role: "user", content: "question", timestamp: 1 });
			console.log(
				`after the user's: ${fs.existsSync(file)}, mode ${mode(file)} in ${mode(directory)}, lines ${lines(file)}`,
			);

			const text = fs.readFileSync(file);
			fs.rmSync(file);
			fs.mkdirSync(file);
			try {
				manager.appendCustomEntry("lost", 1);
			} catch (error: any) {
				const kept = manager.getLeafId() === first;
				console.log(`refused: ${error.code}, leaf kept ${kept}, entries ${manager.getEntries().length}`);
			}
			fs.rmdirSync(file);
			fs.writeFileSync(file, text, { mode: 0o600 });
			manager.appendMessage({ role: "assistant", content: [], provider: "p", model: "m", timestamp: 2 });
			const last = manager.getLeafEntry();
			const whole = fs.readFileSync(file, "utf8").endsWith(`${JSON.stringify(last)}\n`);
			console.log(`after the answer: lines ${lines(file)}, mode ${mode(file)}, last line whole ${whole}`);

			const header = { type: "session", version: 3, id: "x", timestamp: "2026-01-01T00:00:00.000Z", cwd: ctx.cwd };
			const entry = { type: "message", id: "a", parentId: null, timestamp: header.timestamp, message: { role: "user", content: "q" } };
			const foreign = join(directory, "foreign.jsonl");
			const titled = [{ ...header, title: "From xcsh" }, entry, { odd: 1 }];
			fs.writeFileSync(foreign, titled.map((line) => `${JSON.stringify(line)}\n`).join(""));
			const opened: any = SessionManager.open(foreign);
			const context = opened.buildSessionContext().messages.length;
			console.log(`title: ${opened.getSessionName()}, leaf ${opened.getLeafId()}, context ${context}`);

			const old = join(ctx.cwd, "old.jsonl");
			const exact = '{"type":"message", "id":"a","parentId":null,"timestamp":"t","n":1e999}';
			fs.writeFileSync(old, `${JSON.stringify({ ...header, version: 2 })}\n${exact}\n{"torn`);
			fs.chmodSync(old, 0o640);
			SessionManager.open(old);
			const now = fs.readFileSync(old, "utf8");
			const version = JSON.parse(now.split("\n")[0] ?? "").version;
			console.log(`migrated: version ${version}, kept ${now.includes(exact) && now.endsWith('{"torn\n')}, mode ${mode(old)}`);

			const named = (await SessionManager.list(ctx.cwd, directory)).filter(({ name }) => name !== undefined);
			console.log(`listed: ${named.map(({ name }) => name).join()}`);
		},
	});
}
