import { appendFileSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const log = (...parts: unknown[]) => appendFileSync("log", `${parts.join(" ")}\n`);

export default function (pi: ExtensionAPI & { [name: string]: any }) {
	const answers = ["cancel", "throw", "supply"];
	pi.on("session_before_compact", async ({ reason, preparation }: any) => {
		log("before", reason);
		if (!(preparation.fileOps.read instanceof Set)) log("no set");
		switch (answers.shift()) {
			case "cancel":
				return { cancel: true };
			case "throw":
				throw new Error("not in the mood");
			default:
				return {
					compaction: {
						summary: "by hand",
						firstKeptEntryId: preparation.firstKeptEntryId,
						tokensBefore: preparation.tokensBefore,
					},
				};
		}
	});
	pi.on("session_compact", async ({ compactionEntry, fromExtension }: any) => {
		if (fromExtension) log("compact", fromExtension, compactionEntry.summary);
	});
	pi.on("session_compact_failed", async ({ errorMessage, aborted }: any) => log("failed", String(errorMessage), aborted));
}
