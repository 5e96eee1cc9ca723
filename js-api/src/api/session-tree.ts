// The entries of a session as a forest (sessions §5).

import type { SessionEntry } from "./protocol.ts";

export interface SessionTreeNode {
	entry: SessionEntry;
	children: SessionTreeNode[];
	label?: string;
	labelTimestamp?: string;
}

/** The label that counts for an entry. */
export interface ResolvedLabel {
	label: string;
	/** Of the `label` entry. */
	timestamp: string;
}

/**
 * All entries in file order, each below its parent. One whose parent is missing is a root; so is the first member of a circle, which only a
 * damaged file has: without it the others would be in no tree at all.
 */
export function treeOf(
	entries: readonly SessionEntry[],
	labelOf: (id: string) => ResolvedLabel | undefined,
): SessionTreeNode[] {
	const nodes = new Map<string, SessionTreeNode>();
	for (const entry of entries) {
		const label = labelOf(entry.id);
		nodes.set(entry.id, {
			entry,
			children: [],
			...(label === undefined ? {} : { label: label.label, labelTimestamp: label.timestamp }),
		});
	}
	const parentOf = (node: SessionTreeNode) =>
		node.entry.parentId === null ? undefined : nodes.get(node.entry.parentId);
	// Nodes below a root, or above which the first member of a circle was found.
	const placed = new Set<SessionTreeNode>();
	const cut = new Set<SessionTreeNode>();
	for (const start of nodes.values()) {
		const walk = new Set<SessionTreeNode>();
		let node: SessionTreeNode | undefined = start;
		while (node !== undefined && !placed.has(node) && !walk.has(node)) {
			walk.add(node);
			node = parentOf(node);
		}
		if (node !== undefined && walk.has(node)) cut.add(firstOfCircle(node, nodes, parentOf));
		for (const passed of walk) placed.add(passed);
	}
	const roots: SessionTreeNode[] = [];
	for (const node of nodes.values()) {
		const parent = cut.has(node) ? undefined : parentOf(node);
		(parent?.children ?? roots).push(node);
	}
	return roots;
}

function firstOfCircle(
	member: SessionTreeNode,
	nodes: ReadonlyMap<string, SessionTreeNode>,
	parentOf: (node: SessionTreeNode) => SessionTreeNode | undefined,
): SessionTreeNode {
	const circle = new Set<SessionTreeNode>();
	for (let node: SessionTreeNode | undefined = member; node !== undefined && !circle.has(node); node = parentOf(node))
		circle.add(node);
	for (const node of nodes.values()) if (circle.has(node)) return node;
	return member;
}
