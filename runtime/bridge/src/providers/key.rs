//! API keys in provider configurations (`spec/extension-api.md` §7.6): templates, environment variables, literals.
//! Never logs a key.

use std::process::Stdio;
use std::time::Duration;

/// How long a `!command` may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// Looks an environment variable up.
pub(crate) type Env<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// What a template asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// The key.
    Value(String),
    /// The output of this command line.
    Command(String),
    /// An environment variable that is not set.
    Missing(String),
}

/// Whether a text stands for something else: headers are looked up in the environment only when they say so.
pub(crate) fn is_template(text: &str) -> bool {
    text.starts_with('!') || text.contains('$')
}

/// Leading `!` or any `$` makes a template; else the name of a set environment variable; else the text itself.
pub(crate) fn parse(text: &str, env: Env<'_>) -> Key {
    if let Some(command) = text.strip_prefix('!') {
        return Key::Command(command.to_string());
    }
    if !text.contains('$') {
        return Key::Value(
            env(text)
                .filter(|value| !value.is_empty())
                .unwrap_or_else(|| text.to_string()),
        );
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(['$', '!']) {
            out.push_str(&rest[..1]);
            rest = after;
            continue;
        }
        let (name, after) = match rest.strip_prefix('{') {
            Some(braced) => match braced.split_once('}') {
                Some((name, after)) => (name, after),
                None => {
                    out.push_str("${");
                    rest = braced;
                    continue;
                }
            },
            None => {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                rest.split_at(end)
            }
        };
        if name.is_empty() {
            out.push('$');
            continue;
        }
        match env(name) {
            Some(value) => out.push_str(&value),
            None => return Key::Missing(name.to_string()),
        }
        rest = after;
    }
    out.push_str(rest);
    Key::Value(out)
}

/// Whether a key is there, without running a command.
pub(crate) fn is_available(text: &str, env: Env<'_>) -> bool {
    match parse(text, env) {
        Key::Value(value) => !value.is_empty(),
        Key::Command(_) => true,
        Key::Missing(_) => false,
    }
}

/// The key, running a command when the template is one. Errors never contain the key.
pub(crate) async fn resolve(text: &str, env: Env<'_>) -> Result<String, String> {
    match parse(text, env) {
        Key::Value(value) => Ok(value),
        Key::Missing(name) => Err(format!("environment variable {name} is not set")),
        Key::Command(command) => {
            let mut child = tokio::process::Command::new(if cfg!(windows) { "cmd" } else { "sh" });
            child
                .arg(if cfg!(windows) { "/C" } else { "-c" })
                .arg(&command);
            child
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .kill_on_drop(true);
            let output = tokio::time::timeout(COMMAND_TIMEOUT, child.output())
                .await
                .map_err(|_| {
                    format!(
                        "the API key command did not finish within {} s",
                        COMMAND_TIMEOUT.as_secs()
                    )
                })?
                .map_err(|error| format!("the API key command could not be started: {error}"))?;
            if !output.status.success() {
                return Err(format!("the API key command failed ({})", output.status));
            }
            let key = String::from_utf8_lossy(&output.stdout).trim().to_string();
            if key.is_empty() {
                Err("the API key command printed nothing".into())
            } else {
                Ok(key)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(name: &str) -> Option<String> {
        match name {
            "KEY" => Some("secret".into()),
            "HOST_A" => Some("a".into()),
            _ => None,
        }
    }

    #[test]
    fn templates_names_and_literals() {
        let value = |text: &str| parse(text, &env);
        assert_eq!(value("KEY"), Key::Value("secret".into()));
        assert_eq!(value("sk-literal"), Key::Value("sk-literal".into()));
        assert_eq!(value("$KEY"), Key::Value("secret".into()));
        assert_eq!(value("x-${HOST_A}-$KEY!"), Key::Value("x-a-secret!".into()));
        assert_eq!(value("a$$b$!c"), Key::Value("a$b!c".into()));
        assert_eq!(value("!pass show x"), Key::Command("pass show x".into()));
        assert_eq!(value("${NOPE}"), Key::Missing("NOPE".into()));
        assert!(!is_available("$NOPE", &env));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn commands_give_their_trimmed_output() {
        assert_eq!(resolve("!printf ' k\\n'", &env).await.as_deref(), Ok("k"));
        assert!(
            resolve("!exit 3", &env)
                .await
                .unwrap_err()
                .contains("failed")
        );
    }
}
