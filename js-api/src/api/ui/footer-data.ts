// Third argument of footer factories (sdk-exports §2.1, `ReadonlyFooterDataProvider`): what the host's own footer shows.

import { isRecord } from "../json.ts";
import type { UiEnv } from "./env.ts";

export function createFooterData(env: UiEnv) {
	return {
		/** Branch of the session directory, `null` outside a repository. */
		getGitBranch(): string | null {
			const branch = env.ask("gitBranch");
			return typeof branch === "string" ? branch : null;
		},
		/** Status texts of all extensions by key. */
		getExtensionStatuses(): Map<string, string> {
			const statuses = env.ask("statuses");
			if (!isRecord(statuses)) return new Map();
			return new Map(Object.entries(statuses).map(([key, text]) => [key, String(text)]));
		},
		getAvailableProviderCount(): number {
			return env.runtime.state.providers().filter((provider) => (provider.auth ?? "none") !== "none").length;
		},
		/** The host redraws the footer when the branch changes, so there is nothing to subscribe to. */
		onBranchChange: (_listener: () => void) => () => {},
	};
}
