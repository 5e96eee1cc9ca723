//! The setting `httpProxy` (`spec/cli.md` §6): a proxy for requests of providers and extensions.
//!
//! It counts as the variables `HTTP_PROXY` and `HTTPS_PROXY` would, as in pi; the environment wins over it, and `NO_PROXY`
//! says what is asked without a proxy. Only the user's own file is looked at: a project must not redirect requests.

use std::path::Path;

use pier_agent::regular_file;
use serde_json::Value;

/// Variables that the setting stands for, with the spelling that counts as well.
const VARIABLES: [(&str, &str); 2] = [("HTTP_PROXY", "http_proxy"), ("HTTPS_PROXY", "https_proxy")];

/// How an address may begin; the engine ignores others without a word.
const SCHEMES: [&str; 4] = ["http://", "https://", "socks5://", "socks5h://"];

/// What the setting asks for: variables to set, or what is wrong with it. A file that cannot be read is no concern here:
/// the settings say so.
pub(crate) fn variables(
    agent_dir: &Path,
    is_set: impl Fn(&str) -> bool,
) -> Result<Vec<(&'static str, String)>, String> {
    let text = regular_file::read_to_string(&agent_dir.join("settings.json")).unwrap_or_default();
    let settings: Value =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
    let address = match &settings["httpProxy"] {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) => text.trim(),
        _ => "",
    };
    if settings["httpProxy"] == "" {
        return Ok(Vec::new());
    }
    let host = SCHEMES
        .iter()
        .find_map(|scheme| address.strip_prefix(scheme));
    if !host.is_some_and(is_host) {
        // The address may hold a password.
        return Err(
            "Setting httpProxy: it must be the address of a proxy, such as \"http://host:8080\"; no proxy is used"
                .to_owned(),
        );
    }
    let missing = VARIABLES
        .iter()
        .filter(|(name, other)| !is_set(name) && !is_set(other));
    Ok(missing
        .map(|(name, _)| (*name, address.to_owned()))
        .collect())
}

/// Whether what follows the scheme can be a host, with a user, a port and a path around it.
fn is_host(rest: &str) -> bool {
    let authority = rest.split('/').next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    !host.is_empty()
        && !host.starts_with(':')
        && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &str, set: &[&str]) -> Result<Vec<(&'static str, String)>, String> {
        let dir = tempfile::tempdir().expect("dir");
        std::fs::write(dir.path().join("settings.json"), settings).expect("write");
        variables(dir.path(), |name| set.contains(&name))
    }

    #[test]
    fn the_setting_stands_for_the_variables_that_are_not_set() {
        let address = "http://user:pass@host:8080";
        let settings = format!(r#"{{"httpProxy":" {address} "}}"#);
        let both = read(&settings, &[]).expect("variables");
        assert_eq!(
            both,
            [
                ("HTTP_PROXY", address.to_owned()),
                ("HTTPS_PROXY", address.to_owned())
            ]
        );
        let one = read(&settings, &["http_proxy"]).expect("variables");
        assert_eq!(one, [("HTTPS_PROXY", address.to_owned())]);
        for nothing in [
            "{}",
            "broken",
            r#"{"httpProxy":null}"#,
            r#"{"httpProxy":""}"#,
        ] {
            assert_eq!(read(nothing, &[]), Ok(Vec::new()), "{nothing}");
        }
    }

    #[test]
    fn what_is_no_address_is_said_without_its_password() {
        for wrong in [
            "5",
            "true",
            "\"host:8080\"",
            "\"ftp://user:hidden@host\"",
            "\"http://\"",
            "\"http://:80\"",
            "\"http://a b\"",
        ] {
            let problem = read(&format!(r#"{{"httpProxy":{wrong}}}"#), &[]).expect_err(wrong);
            assert!(
                problem.contains("httpProxy") && !problem.contains("hidden"),
                "{problem}"
            );
        }
    }
}
