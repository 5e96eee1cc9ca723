//! Command-line flags of extensions (`spec/extension-api.md` §7.3, `spec/cli.md` §2): declarations, values, errors.

use pier_protocol::extension::FlagType;
use serde_json::{Map, Value};

use super::Loaded;

/// A flag that some extension declared.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredFlag {
    /// Name without the dashes.
    pub name: String,
    /// Whether it takes a value.
    pub flag_type: FlagType,
    /// For `--help`.
    pub description: Option<String>,
    /// Value when it is not given.
    pub default: Option<Value>,
    /// Extension that declared it (the last one, when several did).
    pub extension_path: String,
}

/// A flag as the command line has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenFlag {
    /// Name without the dashes.
    pub name: String,
    /// `None` for a bare `--name`.
    pub value: Option<String>,
}

/// All declared flags; the last declaration of a name counts.
pub(crate) fn declared(extensions: &[Loaded]) -> Vec<DeclaredFlag> {
    let mut flags: Vec<DeclaredFlag> = Vec::new();
    for extension in extensions {
        for flag in &extension.registered.flags {
            let new = DeclaredFlag {
                name: flag.name.clone(),
                flag_type: flag.flag_type,
                description: flag.description.clone(),
                default: flag.default.clone(),
                extension_path: extension.info.path.clone(),
            };
            match flags.iter_mut().find(|known| known.name == flag.name) {
                Some(known) => *known = new,
                None => flags.push(new),
            }
        }
    }
    flags
}

/// Values of given flags, and one sentence for everything wrong with them.
pub(crate) fn evaluate(
    declared: &[DeclaredFlag],
    given: &[GivenFlag],
) -> (Map<String, Value>, Vec<String>) {
    let mut values = Map::new();
    let mut errors = Vec::new();
    let mut unknown = Vec::new();
    for flag in given {
        let Some(declaration) = declared.iter().find(|known| known.name == flag.name) else {
            unknown.push(format!("--{}", flag.name));
            continue;
        };
        match (declaration.flag_type, &flag.value) {
            (FlagType::Boolean, None) => {
                values.insert(flag.name.clone(), Value::Bool(true));
            }
            (FlagType::Boolean, Some(text)) => match text.as_str() {
                "true" | "1" | "yes" | "on" => {
                    values.insert(flag.name.clone(), Value::Bool(true));
                }
                "false" | "0" | "no" | "off" => {
                    values.insert(flag.name.clone(), Value::Bool(false));
                }
                other => errors.push(format!(
                    "Extension flag \"--{}\" takes no value, or true/false; got \"{other}\"",
                    flag.name
                )),
            },
            (FlagType::String, Some(text)) => {
                values.insert(flag.name.clone(), Value::String(text.clone()));
            }
            (FlagType::String, None) => errors.push(format!(
                "Extension flag \"--{}\" requires a value",
                flag.name
            )),
        }
    }
    match unknown.len() {
        0 => {}
        1 => errors.insert(0, format!("Unknown option: {}", unknown[0])),
        _ => errors.insert(0, format!("Unknown options: {}", unknown.join(", "))),
    }
    (values, errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn flag(name: &str, flag_type: FlagType) -> DeclaredFlag {
        DeclaredFlag {
            name: name.into(),
            flag_type,
            description: None,
            default: None,
            extension_path: "/a.ts".into(),
        }
    }

    fn given(name: &str, value: Option<&str>) -> GivenFlag {
        GivenFlag {
            name: name.into(),
            value: value.map(str::to_string),
        }
    }

    #[test]
    fn values_follow_the_declared_type() {
        let declared = [flag("b", FlagType::Boolean), flag("s", FlagType::String)];
        let (values, errors) = evaluate(&declared, &[given("b", None), given("s", Some("-x"))]);
        assert_eq!(Value::Object(values), json!({"b": true, "s": "-x"}));
        assert!(errors.is_empty());
        let (values, errors) = evaluate(
            &declared,
            &[
                given("b", Some("maybe")),
                given("s", None),
                given("u", None),
                given("v", None),
            ],
        );
        assert!(values.is_empty());
        assert_eq!(errors[0], "Unknown options: --u, --v");
        assert!(errors.contains(&"Extension flag \"--s\" requires a value".to_string()));
        assert_eq!(errors.len(), 3);
        assert_eq!(
            evaluate(&declared, &[given("x", None)]).1,
            ["Unknown option: --x"]
        );
    }
}
