//! `/skill:name` and prompt templates in submitted text (spec/cli.md §4.2).

use std::path::Path;

use super::{PromptConfig, PromptTemplate};
use crate::regular_file;

/// A skill file could not be read.
#[derive(Debug, thiserror::Error)]
#[error("Skill \"{name}\" at {path}: {source}")]
pub struct SkillError {
    pub name: String,
    pub path: std::path::PathBuf,
    pub source: std::io::Error,
}

/// Expands a skill call or a template; other text comes back unchanged.
///
/// # Errors
/// The named skill exists but its file cannot be read.
pub fn expand(text: &str, config: &PromptConfig) -> Result<String, SkillError> {
    if let Some(call) = text.strip_prefix("/skill:") {
        let (name, arguments) = call.split_once(char::is_whitespace).unwrap_or((call, ""));
        let Some(skill) = config.skills.iter().find(|skill| skill.name == name) else {
            return Ok(text.to_owned());
        };
        let content =
            regular_file::read_to_string(&skill.location).map_err(|source| SkillError {
                name: name.to_owned(),
                path: skill.location.clone(),
                source,
            })?;
        return Ok(skill_block(
            name,
            &skill.location,
            &content,
            arguments.trim(),
        ));
    }
    if let Some(call) = text.strip_prefix('/') {
        let (name, arguments) = call.split_once(char::is_whitespace).unwrap_or((call, ""));
        if let Some(template) = config
            .templates
            .iter()
            .find(|template| template.name == name)
        {
            return Ok(fill(template, arguments));
        }
    }
    Ok(text.to_owned())
}

fn skill_block(name: &str, location: &Path, content: &str, arguments: &str) -> String {
    let directory = location.parent().unwrap_or(Path::new("."));
    let mut text = format!(
        "<skill name=\"{name}\" location=\"{}\">\nReferences are relative to {}.\n\n{}\n</skill>",
        location.display(),
        directory.display(),
        without_front_matter(content).trim()
    );
    if !arguments.is_empty() {
        text.push_str("\n\n");
        text.push_str(arguments);
    }
    text
}

/// The text behind a leading `---` block.
pub fn without_front_matter(content: &str) -> &str {
    let content = content.trim_start_matches('\u{feff}');
    let Some(rest) = content
        .strip_prefix("---\n")
        .or_else(|| content.strip_prefix("---\r\n"))
    else {
        return content;
    };
    let mut offset = 0;
    for line in rest.split_inclusive('\n') {
        offset += line.len();
        if line.trim_end() == "---" {
            return rest.get(offset..).unwrap_or_default();
        }
    }
    content
}

fn fill(template: &PromptTemplate, arguments: &str) -> String {
    substitute(&template.content, &split_arguments(arguments))
}

/// Splits on whitespace. A quote opens only at the start of an argument, a backslash escapes it, and one that is never
/// closed is an ordinary character.
pub fn split_arguments(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut result = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        if c.is_whitespace() {
            at += 1;
            continue;
        }
        if matches!(c, '"' | '\'')
            && let Some((argument, next)) = quoted(&chars, at, *c)
        {
            result.push(argument);
            at = next;
            continue;
        }
        let start = at;
        while chars.get(at).is_some_and(|c| !c.is_whitespace()) {
            at += 1;
        }
        result.push(chars.iter().skip(start).take(at - start).collect());
    }
    result
}

/// The argument that the quote at `open` begins, up to its closing quote and whatever follows without a blank.
fn quoted(chars: &[char], open: usize, quote: char) -> Option<(String, usize)> {
    let mut argument = String::new();
    let mut at = open + 1;
    loop {
        match chars.get(at)? {
            '\\' if chars.get(at + 1) == Some(&quote) => {
                argument.push(quote);
                at += 2;
            }
            c if *c == quote => break,
            c => {
                argument.push(*c);
                at += 1;
            }
        }
    }
    at += 1;
    while let Some(c) = chars.get(at).filter(|c| !c.is_whitespace()) {
        argument.push(*c);
        at += 1;
    }
    Some((argument, at))
}

/// Replaces placeholders in one pass: `$1`, `$@`, `$ARGUMENTS`, `${N:-default}`, `${@:-default}`, `${@:N}`, `${@:N:L}`.
pub fn substitute(content: &str, arguments: &[String]) -> String {
    let mut result = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(dollar) = rest.find('$') {
        let (before, from) = rest.split_at(dollar);
        result.push_str(before);
        let tail = from.get(1..).unwrap_or_default();
        match placeholder(tail, arguments) {
            Some((value, length)) => {
                result.push_str(&value);
                rest = tail.get(length..).unwrap_or_default();
            }
            None => {
                result.push('$');
                rest = tail;
            }
        }
    }
    result.push_str(rest);
    result
}

/// The value of the placeholder behind a dollar sign and its length in bytes.
fn placeholder(tail: &str, arguments: &[String]) -> Option<(String, usize)> {
    if let Some(inner) = tail.strip_prefix('{') {
        let end = inner.find('}')?;
        let value = braced(inner.get(..end)?, arguments)?;
        return Some((value, end + 2));
    }
    if tail.starts_with('@') {
        return Some((arguments.join(" "), 1));
    }
    if tail.starts_with("ARGUMENTS") {
        return Some((arguments.join(" "), "ARGUMENTS".len()));
    }
    let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
    let number: usize = tail.get(..digits)?.parse().ok()?;
    Some((nth(arguments, number), digits))
}

fn nth(arguments: &[String], number: usize) -> String {
    number
        .checked_sub(1)
        .and_then(|index| arguments.get(index))
        .cloned()
        .unwrap_or_default()
}

fn braced(inner: &str, arguments: &[String]) -> Option<String> {
    let (subject, option) = inner
        .split_once(':')
        .map_or((inner, None), |(subject, option)| (subject, Some(option)));
    let all = matches!(subject, "@" | "ARGUMENTS");
    let value = if all {
        arguments.join(" ")
    } else {
        nth(arguments, subject.parse().ok()?)
    };
    match option {
        None => Some(value),
        Some(option) => match option.strip_prefix('-') {
            Some(default) => Some(if value.is_empty() {
                default.to_owned()
            } else {
                value
            }),
            None if all => {
                let (from, length) = option
                    .split_once(':')
                    .map_or((option, None), |(from, length)| (from, Some(length)));
                let from: usize = from.trim().parse().ok()?;
                let length = match length {
                    Some(length) => length.trim().parse().ok()?,
                    None => usize::MAX,
                };
                let slice: Vec<_> = arguments
                    .iter()
                    .skip(from.saturating_sub(1))
                    .take(length)
                    .cloned()
                    .collect();
                Some(slice.join(" "))
            }
            None => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::SkillSummary;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn arguments_split_with_quotes_only_at_their_start() {
        assert_eq!(
            split_arguments(r#"a "b c" d"e f" 'x\'y'"#),
            words(&["a", "b c", "d\"e", "f\"", "x'y"])
        );
        assert_eq!(split_arguments(r#""open a"#), words(&["\"open", "a"]));
        assert!(split_arguments("  ").is_empty());
    }

    #[test]
    fn placeholders_are_replaced_in_one_pass() {
        let arguments = words(&["one", "$2", "three"]);
        assert_eq!(
            substitute("$1-$2-$9|$@", &arguments),
            "one-$2-|one $2 three"
        );
        assert_eq!(
            substitute("${4:-none} ${1:-x} ${@:2} ${@:1:1} $ARGUMENTS", &arguments),
            "none one $2 three one one $2 three"
        );
        assert_eq!(substitute("cost $ 5 ${bad} $x", &[]), "cost $ 5 ${bad} $x");
    }

    #[test]
    fn a_skill_call_quotes_the_file_and_an_unknown_one_stays() {
        let dir = tempfile::tempdir().unwrap();
        let location = dir.path().join("SKILL.md");
        std::fs::write(&location, "---\nname: s\n---\n\nDo it.\n").unwrap();
        let config = PromptConfig {
            skills: vec![SkillSummary {
                name: "s".into(),
                description: String::new(),
                location: location.clone(),
                hidden: false,
            }],
            ..PromptConfig::default()
        };
        let text = expand("/skill:s now  please", &config).unwrap();
        let directory = dir.path().display();
        assert_eq!(
            text,
            format!(
                "<skill name=\"s\" location=\"{}\">\nReferences are relative to {directory}.\n\nDo it.\n</skill>\n\nnow  please",
                location.display()
            )
        );
        assert_eq!(expand("/skill:other x", &config).unwrap(), "/skill:other x");
        assert_eq!(expand("/model x", &config).unwrap(), "/model x");
    }
}
