// One writer at a time for each file, in one queue with the host's own tools and with all other extensions.

import { resolve } from "node:path";
import { insideTurns, runInTurn } from "../../api/file-turns.ts";
import { currentRuntime } from "../../api/runtime.ts";
import { hostCall, hostCallAsync } from "../../host.ts";

/**
 * Runs `fn` after every earlier change of the same file has settled; changes of other files run at once. Tools that `fn` calls may
 * change the file, too. Rejects when the one before has had the file for minutes.
 */
export async function withFileMutationQueue<T>(path: string, fn: () => Promise<T>): Promise<T> {
	const callId = currentRuntime().calls.current;
	// Answered at once, so that the order of the calls is the order of the turns.
	const { turn } = hostCall("fileTurn.ask", {
		path: resolve(path),
		...(callId === undefined ? {} : { callId }),
		...insideTurns(),
	});
	try {
		await hostCallAsync("fileTurn.wait", { turn });
		return await runInTurn(turn, fn);
	} finally {
		endTurn(turn);
	}
}

function endTurn(turn: number): void {
	try {
		hostCall("fileTurn.end", { turn });
	} catch {
		// A host that answers no more has ended the turn itself.
	}
}
