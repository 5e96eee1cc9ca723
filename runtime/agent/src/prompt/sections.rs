//! Texts of the prompt sections. The wording is ours; names and order are shared with the peers. Their
//! `docs` section is left out: an installed Pier is one binary, there are no files it could name.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::{PromptOptions, is_section_name};

const PREAMBLE: &str = "You are a careful software engineer who works inside a terminal session. You read and change the \
files of the user's project, run commands, and report what you did. Act through the tools you are given, check your \
own work, and ask when a decision is the user's to make.";
const TOOLS_CLOSING: &str = "The project may add tools of its own beside these.";

/// Every section with a text, in order. A forced text has no sections.
pub fn build_sections(options: &PromptOptions) -> IndexMap<String, String> {
    let mut sections = IndexMap::new();
    let mut add = |name: &str, text: String| {
        if !text.is_empty() {
            sections.insert(name.to_owned(), text);
        }
    };
    match &options.custom_prompt {
        Some(custom) => add("preamble", custom.clone()),
        None => {
            add("preamble", PREAMBLE.to_owned());
            add("tools", tools_section(options));
            add("rules", rules_section(options));
        }
    }
    add("addendum", options.append_system_prompt.clone());
    add("project_context", project_context(options));
    add("skills", skills_section(options));
    add("cwd", options.cwd.replace('\\', "/"));
    for (name, text) in &options.sections {
        if is_section_name(name) {
            add(name, text.clone());
        }
    }
    sections
}

/// Tools that the prompt talks about.
fn declared(options: &PromptOptions) -> impl Iterator<Item = &str> {
    options
        .selected_tools
        .iter()
        .filter(|name| !options.hidden_tools.contains(name))
        .map(String::as_str)
}

fn tools_section(options: &PromptOptions) -> String {
    let lines: Vec<String> = declared(options)
        .filter_map(|name| {
            let snippet = options.tool_snippets.get(name)?.trim();
            (!snippet.is_empty()).then(|| format!("- {name}: {snippet}"))
        })
        .collect();
    let list = if lines.is_empty() {
        "(none)".to_owned()
    } else {
        lines.join("\n")
    };
    format!("{list}\n\n{TOOLS_CLOSING}")
}

fn rules_section(options: &PromptOptions) -> String {
    let has = |wanted: &str| declared(options).any(|name| name == wanted);
    let mut rules: Vec<String> = Vec::new();
    if has("bash") && !(has("grep") || has("find") || has("ls")) {
        rules.push("Look around in the project with bash: list, search and inspect files before you change them".into());
    } else if has("grep") || has("find") || has("ls") {
        rules.push("Look for files with grep, find and ls rather than through bash; they respect ignore files".into());
    }
    let of_tools = declared(options).filter_map(|name| options.tool_guidelines.get(name));
    let given = of_tools.flatten().chain(&options.prompt_guidelines);
    rules.extend(given.map(|line| line.trim().to_owned()));
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

fn project_context(options: &PromptOptions) -> String {
    options
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

fn skills_section(options: &PromptOptions) -> String {
    let readable = options
        .selected_tools
        .iter()
        .any(|name| matches!(name.as_str(), "read" | "bash"));
    let told: Vec<_> = options
        .skills
        .iter()
        .filter(|skill| !skill.hidden)
        .collect();
    if told.is_empty() || !readable {
        return String::new();
    }
    let mut text = String::from(
        "Each skill below is a file with instructions for one kind of task. Read the file at its location before you take \
on such a task. Paths in it are relative to its directory.\n\n<available_skills>\n",
    );
    for skill in told {
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
