// Conversation helpers: what a model gets, what a summary reads.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as realCompaction from "../../node_modules/@earendil-works/pi-coding-agent/dist/core/compaction/compaction.js";
import * as realUtils from "../../node_modules/@earendil-works/pi-coding-agent/dist/core/compaction/utils.js";
import * as realMessages from "../../node_modules/@earendil-works/pi-coding-agent/dist/core/messages.js";
import * as compaction from "../../src/host-modules/coding-agent/compaction.ts";
import { serializeConversation, serializeWithThinking } from "../../src/host-modules/coding-agent/conversation.ts";
import { convertToLlm } from "../../src/host-modules/coding-agent/messages.ts";

// biome-ignore lint/suspicious/noExplicitAny: messages of all kinds, malformed ones too.
type Any = any;

const IMAGE = { type: "image", data: "aGk=", mimeType: "image/png" };
const CONVERSATION: Any[] = [
	{ role: "user", content: "hello", timestamp: 1 },
	{ role: "user", content: [{ type: "text", text: "one" }, IMAGE, { type: "text", text: "two" }], timestamp: 2 },
	{
		role: "assistant",
		content: [
			{ type: "thinking", thinking: "hmm" },
			{ type: "text", text: "first" },
			{ type: "text", text: "second" },
			{ type: "toolCall", id: "1", name: "read", arguments: { path: "a b", limit: 3 } },
			{ type: "toolCall", id: "2", name: "ls", arguments: {} },
		],
		timestamp: 3,
	},
	{
		role: "toolResult",
		toolCallId: "1",
		toolName: "read",
		content: [{ type: "text", text: "y".repeat(2500) }],
		timestamp: 4,
	},
	{ role: "toolResult", toolCallId: "2", toolName: "ls", content: [IMAGE], timestamp: 5 },
	{ role: "assistant", content: [], timestamp: 6 },
];

const bash = (more: object): Any => ({ role: "bashExecution", command: "ls -l", output: "out", timestamp: 9, ...more });

const SESSION: Any[] = [
	...CONVERSATION,
	{ role: "custom", customType: "x", content: "note", display: true, details: { a: 1 }, timestamp: 7 },
	{ role: "custom", customType: "x", content: [{ type: "text", text: "note" }, IMAGE], display: false, timestamp: 8 },
	bash({ exitCode: 0 }),
	bash({ exitCode: 3 }),
	bash({ output: "", exitCode: 0 }),
	bash({ cancelled: true }),
	bash({ exitCode: 0, truncated: true, fullOutputPath: "/tmp/full" }),
	bash({ excludeFromContext: true }),
	{ role: "somethingElse", content: "?", timestamp: 10 },
];

test("serializeConversation agrees with the real package", () => {
	const text = serializeConversation(CONVERSATION);
	assert.equal(text, realUtils.serializeConversation(CONVERSATION));
	assert.match(text, /^\[User\]: hello\n\n\[User\]: onetwo\n\n\[Assistant\]: first\nsecond\n\n/);
	assert.match(text, /\[Assistant tool calls\]: read\(path="a b", limit=3\); ls\(\)/);
	assert.match(text, /\n\n\[\.\.\. 500 more characters truncated\]$/);
});

test("oh-my-pi and xcsh have what the model thought in it", () => {
	const text = serializeWithThinking(CONVERSATION);
	assert.match(text, /\n\n\[Assistant thinking\]: hmm\n\n\[Assistant\]: first\nsecond\n\n/);
	assert.equal(text.replace("[Assistant thinking]: hmm\n\n", ""), serializeConversation(CONVERSATION));
});

test("convertToLlm agrees with the real package, and drops roles that no model knows", () => {
	assert.deepEqual(convertToLlm(SESSION), realMessages.convertToLlm(SESSION));
	assert.equal(convertToLlm([{ role: "somethingElse", timestamp: 1 }]).length, 0);
});

test("summaries are framed as the specification says, in words of our own", () => {
	const messages: Any[] = [
		{ role: "compactionSummary", summary: "S", tokensBefore: 5, timestamp: 1 },
		{ role: "branchSummary", summary: "B", fromId: "x", timestamp: 2 },
	];
	const [compacted, branch] = convertToLlm(messages).map((message: Any) => message.content[0].text as string);
	assert.match(compacted ?? "", /^[^\n]+\n\n<summary>\nS\n<\/summary>$/);
	assert.match(branch ?? "", /^[^\n]+\n\n<summary>\nB<\/summary>$/);
});

test("xcsh's roles become user messages", () => {
	const messages: Any[] = [
		{ role: "hookMessage", customType: "h", content: "hi", timestamp: 1 },
		{ role: "pythonExecution", code: "1+1", output: "2", timestamp: 2 },
		{ role: "fileMention", files: [{ path: "a.txt", content: "text" }], timestamp: 3 },
		{ role: "developer", content: "rules", timestamp: 4 },
	];
	const [hook, python, files, developer] = convertToLlm(messages) as Any[];
	assert.deepEqual(developer, { role: "user", content: [{ type: "text", text: "rules" }], timestamp: 4 });
	assert.deepEqual(hook.content, [{ type: "text", text: "hi" }]);
	assert.match(python.content[0].text, /1\+1[\s\S]*2/);
	assert.match(files.content[0].text, /<system-reminder>\n<file path="a\.txt">\ntext\n<\/file>\n<\/system-reminder>/);
});

test("token estimates and limits agree with the real package", () => {
	for (const message of SESSION) {
		assert.equal(compaction.estimateTokens(message), realCompaction.estimateTokens(message), JSON.stringify(message));
	}
	const usage: Any = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 0 };
	assert.equal(compaction.calculateContextTokens(usage), 10);
	assert.equal(compaction.calculateContextTokens({ ...usage, totalTokens: 50 }), 50);
	const { DEFAULT_COMPACTION_SETTINGS: settings } = compaction;
	assert.deepEqual({ ...settings }, realCompaction.DEFAULT_COMPACTION_SETTINGS);
	assert.equal(compaction.shouldCompact(83617, 100000, settings), true);
	assert.equal(compaction.shouldCompact(83616, 100000, settings), false);
	assert.equal(compaction.shouldCompact(99999, 100000, { ...settings, enabled: false }), false);
});

test("a system message counts with its sections and the tools it adds", () => {
	const tools = [{ name: "read", description: "d", parameters: { type: "object" } }];
	const system = (more: object): Any => ({ role: "system", content: "x".repeat(8), timestamp: 1, ...more });
	assert.equal(compaction.estimateTokens(system({})), 2);
	assert.equal(compaction.estimateTokens(system({ sections: { a: "y".repeat(4), gone: null } })), 3);
	const length = 8 + JSON.stringify(tools).length;
	assert.equal(compaction.estimateTokens(system({ toolsAdded: tools })), Math.ceil(length / 4));
	const whole = system({ sections: { a: "y".repeat(5), gone: null }, toolsAdded: tools });
	assert.equal(compaction.estimateTokens(whole), realCompaction.estimateTokens(whole));
	assert.equal(compaction.estimateTokens({ role: "developer", content: "z".repeat(4) }), 1);
});

test("cut points agree with the real package", () => {
	const entry = (index: number, message: Any): Any => ({
		type: "message",
		id: `e${index}`,
		parentId: index === 0 ? null : `e${index - 1}`,
		timestamp: "2026-01-01T00:00:00.000Z",
		message,
	});
	const turn = (text: string): Any[] => [
		{ role: "user", content: text.repeat(40), timestamp: 1 },
		{
			role: "assistant",
			content: [{ type: "toolCall", id: "1", name: "read", arguments: { path: text } }],
			timestamp: 1,
		},
		{
			role: "toolResult",
			toolCallId: "1",
			toolName: "read",
			content: [{ type: "text", text: text.repeat(200) }],
			timestamp: 1,
		},
		{ role: "assistant", content: [{ type: "text", text: text.repeat(60) }], timestamp: 1 },
	];
	const entries = ["abcd", "efgh", "ijkl"].flatMap(turn).map((message, index) => entry(index, message));
	entries.splice(4, 0, {
		type: "custom",
		id: "c",
		parentId: "e3",
		timestamp: "2026-01-01T00:00:00.000Z",
		customType: "x",
	});
	for (const keep of [1, 60, 61, 200, 261, 300, 360, 500, 700, 5000]) {
		for (const start of [0, 2]) {
			assert.deepEqual(
				compaction.findCutPoint(entries, start, entries.length, keep),
				realCompaction.findCutPoint(entries, start, entries.length, keep),
				`keep ${keep} from ${start}`,
			);
		}
	}
});
