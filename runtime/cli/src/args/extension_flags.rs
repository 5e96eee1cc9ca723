//! Second look at flags that were unknown, once extensions have registered theirs
//! (`spec/cli.md` §2, `spec/extension-api.md` §7.3).
//!
//! The registered type decides: a boolean flag never takes a word, a string flag takes the next one.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Args, UnknownFlag, Word};

/// What an extension said about its flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExtensionFlagType {
    Boolean,
    String,
}

/// A flag of an extension.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RegisteredFlag {
    pub(crate) name: String,
    pub(crate) kind: ExtensionFlagType,
}

/// The outcome of the second look.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Resolved {
    /// Values for extensions, by flag name.
    pub(crate) values: BTreeMap<String, Value>,
    /// The messages, with the words that no flag took.
    pub(crate) messages: Vec<String>,
    /// Sentences for standard error.
    pub(crate) warnings: Vec<String>,
}

/// Flags of other products that mean nothing here and are accepted when no extension claims them.
/// The boolean says whether the flag takes a value.
const ACCEPTED: &[(&str, bool)] = &[
    ("smol", true),
    ("slow", true),
    ("plan", true),
    ("provider-session-id", true),
    ("no-lsp", false),
    ("no-pty", false),
    ("no-rules", false),
    ("no-title", false),
    ("allow-home", false),
];

impl Args {
    /// Settles every unknown flag and every word behind one.
    ///
    /// # Errors
    /// A sentence that names every flag nobody knows, or the flag that lacks its value.
    pub(crate) fn resolve(&self, registered: &[RegisteredFlag]) -> Result<Resolved, String> {
        let mut resolved = Resolved::default();
        let mut unknown = Vec::new();
        let mut takes_word = vec![false; self.unknown.len()];
        for (index, flag) in self.unknown.iter().enumerate() {
            let known = registered
                .iter()
                .find(|registered| registered.name == flag.name);
            match (known, ACCEPTED.iter().find(|(name, _)| *name == flag.name)) {
                (Some(known), _) => {
                    let (value, took) = self.value(index, flag, known.kind)?;
                    takes_word[index] = took;
                    resolved.values.insert(flag.name.clone(), value);
                }
                (None, Some((name, with_value))) => {
                    takes_word[index] = *with_value && flag.inline.is_none();
                    let taken = self.word_behind(index).filter(|_| takes_word[index]);
                    resolved.warnings.push(match taken {
                        Some(text) => format!("--{name} \"{text}\" has no effect here"),
                        None => format!("--{name} has no effect here"),
                    });
                }
                (None, None) => unknown.push(format!("--{}", flag.name)),
            }
        }
        match unknown.as_slice() {
            [] => {}
            [one] => return Err(format!("Unknown option: {one}")),
            many => return Err(format!("Unknown options: {}", many.join(", "))),
        }
        resolved.messages = self
            .words
            .iter()
            .filter_map(|word| match word {
                Word::Message(text) => Some(text.clone()),
                Word::Candidate { flag, text } => (!takes_word[*flag]).then(|| text.clone()),
            })
            .collect();
        Ok(resolved)
    }

    /// The word that an unknown flag may take.
    fn word_behind(&self, index: usize) -> Option<&str> {
        self.words.iter().find_map(|word| match word {
            Word::Candidate { flag, text } if *flag == index => Some(text.as_str()),
            _ => None,
        })
    }

    fn value(
        &self,
        index: usize,
        flag: &UnknownFlag,
        kind: ExtensionFlagType,
    ) -> Result<(Value, bool), String> {
        match kind {
            ExtensionFlagType::Boolean => match flag.inline.as_deref() {
                None | Some("true" | "1" | "yes" | "on" | "") => Ok((Value::Bool(true), false)),
                Some("false" | "0" | "no" | "off") => Ok((Value::Bool(false), false)),
                Some(other) => Err(format!(
                    "Extension flag \"--{}\" is true or false, not \"{other}\"",
                    flag.name
                )),
            },
            ExtensionFlagType::String => {
                if let Some(inline) = &flag.inline {
                    return Ok((Value::from(inline.clone()), false));
                }
                self.word_behind(index)
                    .map(|text| (Value::from(text), true))
                    .ok_or_else(|| format!("Extension flag \"--{}\" requires a value", flag.name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ExtensionFlagType, RegisteredFlag, Resolved};

    fn resolve(
        words: &[&str],
        registered: &[(&str, ExtensionFlagType)],
    ) -> Result<Resolved, String> {
        let registered: Vec<_> = registered
            .iter()
            .map(|(name, kind)| RegisteredFlag {
                name: (*name).into(),
                kind: *kind,
            })
            .collect();
        super::super::parse(words.iter().map(|word| (*word).to_owned()))
            .expect("parses")
            .resolve(&registered)
    }

    #[test]
    fn a_boolean_flag_leaves_the_next_word_a_message() {
        let resolved = resolve(
            &["--plan", "do it"],
            &[("plan", ExtensionFlagType::Boolean)],
        )
        .expect("known");
        assert_eq!(resolved.values["plan"], json!(true));
        assert_eq!(resolved.messages, ["do it"]);
    }

    #[test]
    fn a_string_flag_takes_the_next_word_or_what_follows_the_equals_sign() {
        let kinds = [("who", ExtensionFlagType::String)];
        let spaced = resolve(&["--who", "me", "hi"], &kinds).expect("known");
        assert_eq!(
            (&spaced.values["who"], spaced.messages.as_slice()),
            (&json!("me"), &["hi".to_owned()][..])
        );
        let inline = resolve(&["--who=-me", "hi"], &kinds).expect("known");
        assert_eq!(
            (&inline.values["who"], inline.messages.as_slice()),
            (&json!("-me"), &["hi".to_owned()][..])
        );
        assert_eq!(
            resolve(&["--who", "--", "hi"], &kinds),
            Err("Extension flag \"--who\" requires a value".into())
        );
    }

    #[test]
    fn a_boolean_flag_can_be_switched_off_with_an_equals_sign() {
        let kinds = [("plan", ExtensionFlagType::Boolean)];
        assert_eq!(
            resolve(&["--plan=false"], &kinds).expect("known").values["plan"],
            json!(false)
        );
        assert!(resolve(&["--plan=maybe"], &kinds).is_err());
    }

    #[test]
    fn flags_nobody_knows_are_all_named() {
        assert_eq!(resolve(&["--a"], &[]), Err("Unknown option: --a".into()));
        assert_eq!(
            resolve(&["--a", "--b=1"], &[]),
            Err("Unknown options: --a, --b".into())
        );
    }

    #[test]
    fn flags_of_other_products_are_accepted_unless_an_extension_claims_them() {
        let resolved = resolve(&["--plan", "model", "hi"], &[]).expect("accepted");
        assert_eq!(resolved.messages, ["hi"]);
        assert_eq!(resolved.warnings.len(), 1);
    }
}
