//! Texts of the prompt sections. The wording is ours; names and order are shared with the peers.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use super::PromptConfig;
use crate::tool::Tool;

const PREAMBLE: &str = "You are a careful software engineer who works inside a terminal session. You read and change the \
files of the user's project, run commands, and report what you did. Act through the tools you are given, check your \
own work, and ask when a decision is the user's to make.";
const TOOLS_CLOSING: &str = "The project may add tools of its own beside these.";

/// Every section with a text, in order.
pub fn build_sections(
    config: &PromptConfig,
    tools: &[Arc<dyn Tool>],
    cwd: &Path,
) -> IndexMap<String, String> {
    let mut sections = IndexMap::new();
    let mut add = |name: &str, text: String| {
        if !text.is_empty() {
            sections.insert(name.to_owned(), text);
        }
    };
    match &config.custom {
        Some(custom) => add("preamble", custom.clone()),
        None => {
            add("preamble", PREAMBLE.to_owned());
            add("tools", tools_section(tools));
            add("rules", rules_section(config, tools));
            add("docs", config.docs.clone().unwrap_or_default());
        }
    }
    add("addendum", config.append.clone().unwrap_or_default());
    add("project_context", project_context(config));
    add("skills", skills_section(config, tools));
    add("cwd", cwd.to_string_lossy().replace('\\', "/"));
    for (name, text) in &config.extra_sections {
        if is_section_name(name) {
            add(name, text.clone());
        }
    }
    sections
}

/// `^[a-z][a-z0-9_-]*$`, and not the preamble.
fn is_section_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-')
        && name != "preamble"
}

fn tools_section(tools: &[Arc<dyn Tool>]) -> String {
    let lines: Vec<String> = tools
        .iter()
        .map(|tool| tool.spec())
        .filter_map(|spec| {
            spec.prompt_snippet
                .as_ref()
                .map(|snippet| format!("- {}: {}", spec.name, snippet.trim()))
        })
        .collect();
    let list = if lines.is_empty() {
        "(none)".to_owned()
    } else {
        lines.join("\n")
    };
    format!("{list}\n\n{TOOLS_CLOSING}")
}

fn rules_section(config: &PromptConfig, tools: &[Arc<dyn Tool>]) -> String {
    let has = |name: &str| tools.iter().any(|tool| tool.spec().name == name);
    let mut rules: Vec<String> = Vec::new();
    if has("bash") && !(has("grep") || has("find") || has("ls")) {
        rules.push("Look around in the project with bash: list, search and inspect files before you change them".into());
    } else if has("grep") || has("find") || has("ls") {
        rules.push("Look for files with grep, find and ls rather than through bash; they respect ignore files".into());
    }
    for tool in tools {
        rules.extend(
            tool.spec()
                .prompt_guidelines
                .iter()
                .map(|line| line.trim().to_owned()),
        );
    }
    rules.extend(config.guidelines.iter().map(|line| line.trim().to_owned()));
    rules.push("Keep answers short".into());
    rules.push("Name files by their paths when you talk about them".into());
    let mut seen = HashSet::new();
    rules.retain(|rule| !rule.is_empty() && seen.insert(rule.clone()));
    rules
        .iter()
        .map(|rule| format!("- {rule}"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn project_context(config: &PromptConfig) -> String {
    config
        .context_files
        .iter()
        .map(|file| {
            format!(
                "<project_instructions path=\"{}\">\n{}\n</project_instructions>",
                escape(&file.path.to_string_lossy()),
                file.content.trim_end()
            )
        })
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn skills_section(config: &PromptConfig, tools: &[Arc<dyn Tool>]) -> String {
    let readable = tools
        .iter()
        .any(|tool| matches!(tool.spec().name.as_str(), "read" | "bash"));
    if config.skills.is_empty() || !readable {
        return String::new();
    }
    let mut text = String::from(
        "Each skill below is a file with instructions for one kind of task. Read the file at its location before you take \
on such a task. Paths in it are relative to its directory.\n\n<available_skills>\n",
    );
    for skill in &config.skills {
        text.push_str(&format!(
            "<skill>\n<name>{}</name>\n<description>{}</description>\n<location>{}</location>\n</skill>\n",
            escape(&skill.name),
            escape(&skill.description),
            escape(&skill.location.to_string_lossy())
        ));
    }
    text.push_str("</available_skills>");
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&apos;")
}
