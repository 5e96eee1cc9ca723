// Members of the API that only one relative has and that Pier accepts without doing anything (§2.1 "optional", §11.4 "may").
// They exist so that an extension written for that relative loads; each says once in the log that it has no effect.

import { createLogger } from "./logger.ts";
import type { ExtensionRecord } from "./record.ts";

export function optionalMembers(record: ExtensionRecord, usable: () => void) {
	const logger = createLogger(record.ext);
	const noEffect = (name: string) => (): void => {
		usable();
		if (record.reportedFeatures.has(`api:${name}`)) return;
		record.reportedFeatures.add(`api:${name}`);
		logger.warn(`pi.${name} has no effect in this host`, { extension: record.path });
	};
	return {
		/** Late oh-my-pi. */
		registerAssistantThinkingRenderer: noEffect("registerAssistantThinkingRenderer"),
		registerComposerShape: noEffect("registerComposerShape"),
		registerFileWriteFallback: noEffect("registerFileWriteFallback"),
		registerFileDeleteFallback: noEffect("registerFileDeleteFallback"),
		setServiceTier: noEffect("setServiceTier"),
		getServiceTiers(): string[] {
			usable();
			return [];
		},
		/** pi. */
		registerMcpServer: noEffect("registerMcpServer"),
		unregisterMcpServer: noEffect("unregisterMcpServer"),
		getMcpServers(): unknown[] {
			usable();
			return [];
		},
		registerVirtualModel: noEffect("registerVirtualModel"),
		unregisterVirtualModel: noEffect("unregisterVirtualModel"),
		/** xcsh: two public fields that nothing there reads either. */
		flagValues: new Map<string, unknown>(),
		pendingProviderRegistrations: [] as unknown[],
	};
}
