// Skills: Markdown files that describe a procedure, loaded from directories and listed in the system prompt.

import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CONFIG_DIR_NAME, getAgentDir, resolveFrom } from "../host-info.ts";
import { parseFrontmatter } from "./frontmatter.ts";
import { readText } from "./regular-file.ts";

export interface Skill {
	name: string;
	description: string;
	filePath: string;
	baseDir: string;
	sourceInfo: { path: string; source: string; scope: string; origin: string };
	disableModelInvocation: boolean;
}

export interface SkillDiagnostic {
	type: "warning" | "error";
	message: string;
	path: string;
}

export interface LoadSkillsResult {
	skills: Skill[];
	diagnostics: SkillDiagnostic[];
}

/** Longest description that is kept, in UTF-16 units. */
const DESCRIPTION_LIMIT = 1024;
/** Directories below a skill directory that are never looked into. */
const SKIPPED = new Set(["node_modules", ".git"]);
/** Levels of subdirectories; a link that points upwards ends here. */
const MAX_DEPTH = 16;

function readSkill(filePath: string, source: string, result: LoadSkillsResult): void {
	try {
		const { frontmatter } = parseFrontmatter(readText(filePath));
		const baseDir = dirname(filePath);
		const fallback = basename(filePath) === "SKILL.md" ? basename(baseDir) : basename(filePath, ".md");
		const name = typeof frontmatter.name === "string" && frontmatter.name !== "" ? frontmatter.name : fallback;
		const description = typeof frontmatter.description === "string" ? frontmatter.description.trim() : "";
		if (description === "") {
			result.diagnostics.push({
				type: "warning",
				message: "the skill has no description and was left out",
				path: filePath,
			});
			return;
		}
		if (description.length > DESCRIPTION_LIMIT) {
			result.diagnostics.push({
				type: "warning",
				message: `the description has ${description.length} characters; ${DESCRIPTION_LIMIT} are allowed`,
				path: filePath,
			});
		}
		result.skills.push({
			name,
			description,
			filePath,
			baseDir,
			sourceInfo: {
				path: filePath,
				source,
				scope: source === "user" || source === "project" ? source : "temporary",
				origin: "top-level",
			},
			disableModelInvocation: frontmatter["disable-model-invocation"] === true,
		});
	} catch (error) {
		result.diagnostics.push({
			type: "warning",
			message: error instanceof Error ? error.message : String(error),
			path: filePath,
		});
	}
}

function scan(directory: string, source: string, top: boolean, depth: number, result: LoadSkillsResult): void {
	const own = join(directory, "SKILL.md");
	if (existsSync(own)) {
		readSkill(own, source, result);
		return;
	}
	if (depth > MAX_DEPTH) return;
	let names: string[];
	try {
		names = readdirSync(directory).sort();
	} catch {
		return;
	}
	for (const name of names) {
		if (SKIPPED.has(name)) continue;
		const path = join(directory, name);
		try {
			if (statSync(path).isDirectory()) scan(path, source, false, depth + 1, result);
			else if (top && name.endsWith(".md")) readSkill(path, source, result);
		} catch {
			// A broken link, or gone since it was listed.
		}
	}
}

/** Skills of one directory: its `SKILL.md`, else its Markdown files and the `SKILL.md` files below it. */
export function loadSkillsFromDir({ dir, source }: { dir: string; source: string }): LoadSkillsResult {
	const result: LoadSkillsResult = { skills: [], diagnostics: [] };
	scan(dir, source, true, 0, result);
	return result;
}

export interface LoadSkillsOptions {
	cwd: string;
	agentDir?: string;
	/** Files or directories. */
	skillPaths?: string[];
	/** Also look into the user's and the project's skill directories (default true). */
	includeDefaults?: boolean;
}

/** Skills of all places. The first of a name wins; the others are reported. */
export function loadSkills(options: LoadSkillsOptions): LoadSkillsResult {
	const { cwd, agentDir = getAgentDir(), skillPaths = [], includeDefaults = true } = options;
	const found: LoadSkillsResult = { skills: [], diagnostics: [] };
	if (includeDefaults) {
		scan(join(agentDir, "skills"), "user", true, 0, found);
		scan(join(cwd, CONFIG_DIR_NAME, "skills"), "project", true, 0, found);
	}
	for (const given of skillPaths) {
		const path = resolveFrom(cwd, given);
		if (!existsSync(path)) found.diagnostics.push({ type: "warning", message: "skill path does not exist", path });
		else if (statSync(path).isDirectory()) scan(path, "path", true, 0, found);
		else if (path.endsWith(".md")) readSkill(path, "path", found);
		else found.diagnostics.push({ type: "warning", message: "a skill file must end in .md", path });
	}
	const byName = new Map<string, Skill>();
	for (const skill of found.skills) {
		const first = byName.get(skill.name);
		if (first === undefined) byName.set(skill.name, skill);
		else if (first.filePath !== skill.filePath) {
			found.diagnostics.push({
				type: "warning",
				message: `a skill named "${skill.name}" exists already: ${first.filePath}`,
				path: skill.filePath,
			});
		}
	}
	return { skills: [...byName.values()], diagnostics: found.diagnostics };
}

function escapeXml(text: string): string {
	return text
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.replaceAll(">", "&gt;")
		.replaceAll('"', "&quot;")
		.replaceAll("'", "&apos;");
}

/** The list of skills for a system prompt; empty without any that the model may use. */
export function formatSkillsForPrompt(skills: readonly Skill[]): string {
	const visible = skills.filter((skill) => !skill.disableModelInvocation);
	if (visible.length === 0) return "";
	const list = visible.map(
		(skill) =>
			`  <skill>\n    <name>${escapeXml(skill.name)}</name>\n    <description>${escapeXml(skill.description)}</description>\n    <location>${escapeXml(skill.filePath)}</location>\n  </skill>`,
	);
	return [
		"",
		"",
		"These skills describe procedures for particular tasks. When a task fits a description, read the skill's file first; relative paths in it start at the file's directory.",
		"",
		"<available_skills>",
		...list,
		"</available_skills>",
	].join("\n");
}
