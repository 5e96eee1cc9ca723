//! Inputs of the system prompt as extensions see and edit them: `systemPromptOptions` (spec/sdk-exports.md §2.1).
//!
//! Everything that the text depends on is here, so that an edited copy renders to what the model gets.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{ContextFile, PromptConfig, SkillSummary, build_sections, render};
use crate::tool::Tool;

/// Inputs of one prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptOptions {
    /// Replaces the preamble and removes `tools` and `rules`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_prompt: Option<String>,
    /// The whole text of this run's requests; everything else is then ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_system_prompt: Option<String>,
    /// Names of the active tools, in order.
    #[serde(default, deserialize_with = "nullable")]
    pub selected_tools: Vec<String>,
    /// Active tools that the prompt does not talk about.
    #[serde(default, deserialize_with = "nullable")]
    pub hidden_tools: Vec<String>,
    /// One line of the `tools` section by tool.
    #[serde(default, deserialize_with = "nullable")]
    pub tool_snippets: IndexMap<String, String>,
    /// Bullets of the `rules` section by tool.
    #[serde(default, deserialize_with = "nullable")]
    pub tool_guidelines: IndexMap<String, Vec<String>>,
    /// Further bullets of the `rules` section.
    #[serde(default, deserialize_with = "nullable")]
    pub prompt_guidelines: Vec<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub append_system_prompt: String,
    /// Sections of extensions by name, or replacements of the host's own; a section without text is left out.
    #[serde(default, deserialize_with = "sections")]
    pub sections: IndexMap<String, String>,
    #[serde(default, deserialize_with = "nullable")]
    pub cwd: String,
    #[serde(default, deserialize_with = "nullable")]
    pub context_files: Vec<ContextFile>,
    #[serde(default, deserialize_with = "nullable")]
    pub skills: Vec<SkillSummary>,
}

/// `null` counts as absent, as extension code that has no types may send it.
fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

fn sections<'de, D: Deserializer<'de>>(from: D) -> Result<IndexMap<String, String>, D::Error> {
    let given: Option<IndexMap<String, Option<String>>> = Option::deserialize(from)?;
    let texts = given.into_iter().flatten();
    Ok(texts
        .filter_map(|(name, text)| Some((name, text?)))
        .collect())
}

/// `^[a-z][a-z0-9_-]*$`, and not the preamble.
pub fn is_section_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-')
        && name != "preamble"
}

impl PromptOptions {
    /// The inputs as they stand.
    pub fn new(config: &PromptConfig, tools: &[Arc<dyn Tool>], cwd: &Path) -> Self {
        let mut options = PromptOptions {
            custom_prompt: config.custom.clone(),
            prompt_guidelines: config.guidelines.clone(),
            append_system_prompt: config.append.clone().unwrap_or_default(),
            sections: config.extra_sections.iter().cloned().collect(),
            cwd: cwd.to_string_lossy().replace('\\', "/"),
            context_files: config.context_files.clone(),
            skills: config.skills.clone(),
            ..PromptOptions::default()
        };
        if let Some(locale) = &config.locale {
            let rule = format!(
                "The user's locale is {locale}. Write to the user in its language, also when the request is in another one; code, names and \
                 quoted text stay as they are."
            );
            options.sections.insert("language".into(), rule);
        }
        options.select(tools);
        options
    }

    /// Replaces the active tools. Texts of tools that were known before stay as they are, edited or not.
    pub fn select(&mut self, tools: &[Arc<dyn Tool>]) {
        let before: HashMap<String, ()> = self
            .selected_tools
            .drain(..)
            .map(|name| (name, ()))
            .collect();
        for tool in tools {
            let spec = tool.spec();
            self.selected_tools.push(spec.name.clone());
            if before.contains_key(&spec.name) {
                continue;
            }
            if let Some(snippet) = &spec.prompt_snippet {
                self.tool_snippets
                    .insert(spec.name.clone(), snippet.trim().to_owned());
            }
            if !spec.prompt_guidelines.is_empty() {
                self.tool_guidelines
                    .insert(spec.name.clone(), spec.prompt_guidelines.clone());
            }
        }
    }

    /// The form that extensions get.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Options as extension code edited them.
    ///
    /// # Errors
    /// A member has the wrong type, or a section a name that no tag can have; the text is for the extension's author.
    pub fn edited(value: &Value) -> Result<Self, String> {
        let edited: PromptOptions = serde_json::from_value(value.clone())
            .map_err(|error| format!("systemPromptOptions: {error}"))?;
        if let Some(name) = edited.sections.keys().find(|name| !is_section_name(name)) {
            return Err(format!("Invalid system prompt section name: {name}"));
        }
        Ok(edited)
    }

    /// The prompt as one text.
    pub fn text(&self) -> String {
        match &self.force_system_prompt {
            Some(forced) => forced.clone(),
            None => render(&build_sections(self)),
        }
    }
}

impl Serialize for ContextFile {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct File<'a> {
            path: std::borrow::Cow<'a, str>,
            content: &'a str,
        }
        File {
            path: self.path.to_string_lossy(),
            content: &self.content,
        }
        .serialize(to)
    }
}

/// A skill on the wire; other members that the peers know are not needed to describe it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Skill {
    name: String,
    #[serde(default)]
    description: String,
    file_path: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    base_dir: String,
    #[serde(default)]
    disable_model_invocation: bool,
}

impl Serialize for SkillSummary {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let base = self.location.parent().unwrap_or(Path::new("."));
        Skill {
            name: self.name.clone(),
            description: self.description.clone(),
            file_path: self.location.to_string_lossy().into_owned(),
            base_dir: base.to_string_lossy().into_owned(),
            disable_model_invocation: self.hidden,
        }
        .serialize(to)
    }
}

impl<'de> Deserialize<'de> for SkillSummary {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let skill = Skill::deserialize(from)?;
        Ok(SkillSummary {
            name: skill.name,
            description: skill.description,
            location: PathBuf::from(skill.file_path),
            hidden: skill.disable_model_invocation,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn options() -> PromptOptions {
        let config = PromptConfig {
            context_files: vec![ContextFile {
                path: "/p/AGENTS.md".into(),
                content: "Be kind.".into(),
            }],
            ..PromptConfig::default()
        };
        PromptOptions::new(&config, &[], Path::new("/p"))
    }

    #[test]
    fn an_edited_copy_renders_with_its_sections() {
        let before = options();
        let mut value = before.to_value();
        value["sections"] =
            json!({"extra": "More.", "cwd": "/elsewhere", "empty-one": "", "gone": null});
        value["contextFiles"] = json!(null);
        let text = PromptOptions::edited(&value).unwrap().text();
        assert!(
            text.ends_with("<cwd>\n/elsewhere\n</cwd>\n\n<extra>\nMore.\n</extra>"),
            "{text}"
        );
        assert!(
            !text.contains("Be kind.") && !text.contains("empty-one") && !text.contains("gone")
        );
    }

    #[test]
    fn wrong_types_and_names_are_named() {
        let before = options();
        let mut value = before.to_value();
        value["sections"] = json!({"Not A Tag": "x"});
        assert_eq!(
            PromptOptions::edited(&value).unwrap_err(),
            "Invalid system prompt section name: Not A Tag"
        );
        value["sections"] = json!({"a": 1});
        assert!(
            PromptOptions::edited(&value)
                .unwrap_err()
                .starts_with("systemPromptOptions: ")
        );
    }

    #[test]
    fn a_locale_is_a_section_beside_any_prompt() {
        let config = PromptConfig {
            custom: Some("Own.".into()),
            locale: Some("pt-BR".into()),
            ..PromptConfig::default()
        };
        let text = PromptOptions::new(&config, &[], Path::new("/p")).text();
        assert!(
            text.contains("<language>\nThe user's locale is pt-BR."),
            "{text}"
        );
        assert!(!options().text().contains("<language>"));
    }

    #[test]
    fn a_forced_text_is_all_there_is() {
        let mut value = options().to_value();
        value["forceSystemPrompt"] = json!("Only this.");
        assert_eq!(PromptOptions::edited(&value).unwrap().text(), "Only this.");
    }
}
