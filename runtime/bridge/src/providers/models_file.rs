//! `<agent dir>/models.json`: endpoints, models and overrides that a person adds without an extension, in pi's format.
//! Pure but for [`ModelsFile::load`]. What it says lies over what built-in providers and extensions register.

use std::path::Path;

use pier_agent::provider::scripted::PROVIDER;
use pier_agent::regular_file;
use pier_protocol::model::Model;
use serde_json::{Map, Value, json};

use super::models::{merge_into, own_model};

/// The file's `providers`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ModelsFile {
    providers: Map<String, Value>,
}

impl ModelsFile {
    /// Reads the file; without one there is nothing.
    ///
    /// # Errors
    /// Names the file and the member that is wrong.
    pub(crate) fn load(file: &Path) -> Result<Self, String> {
        let text = match regular_file::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(format!("{} cannot be read: {error}", file.display())),
        };
        let parsed = Self::parse(&text).and_then(|parsed| {
            let complete = parsed.names().filter(|name| !parsed.needs_others(name));
            for name in complete {
                parsed.compose(name, Vec::new())?;
            }
            Ok(parsed)
        });
        parsed.map_err(|problem| format!("{}: {problem}", file.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let text = without_comments(text.trim_start_matches('\u{feff}'));
        let root: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let providers = match root.get("providers") {
            Some(Value::Object(providers)) => providers.clone(),
            _ => return Err("\"providers\" must be an object".into()),
        };
        for (name, config) in &providers {
            check_name(name)
                .and_then(|()| check_provider(config))
                .map_err(|problem| format!("provider \"{name}\": {problem}"))?;
        }
        Ok(Self { providers })
    }

    /// Names of the providers.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }

    /// What the file says about a provider.
    pub(crate) fn provider(&self, name: &str) -> Option<&Value> {
        self.providers.get(name)
    }

    /// Whether the file changes a provider that somebody else defines, rather than defining all of it.
    pub(crate) fn needs_others(&self, name: &str) -> bool {
        let Some(config) = self.provider(name) else {
            return false;
        };
        let has = |value: &Value, key: &str| value.get(key).is_some_and(Value::is_string);
        let mut models = list(config, "models").peekable();
        models.peek().is_none()
            || models.any(|model| {
                ["api", "baseUrl"]
                    .iter()
                    .any(|key| !has(model, key) && !has(config, key))
            })
    }

    /// The models of a provider with what the file adds and changes.
    ///
    /// # Errors
    /// Names the model that lacks something.
    pub(crate) fn compose(&self, name: &str, known: Vec<Model>) -> Result<Vec<Model>, String> {
        let Some(config) = self.provider(name) else {
            return Ok(known);
        };
        let defaults = defaults(config, known.first());
        let mut models = known;
        for model in &mut models {
            apply(model, config)?;
        }
        for given in list(config, "models") {
            let mut given = given.clone();
            if let Some(common) = config.get("compat") {
                let mut compat = common.clone();
                merge_into(&mut compat, given.get("compat").unwrap_or(&Value::Null));
                given["compat"] = compat;
            }
            let model = own_model(name, &defaults, &given)?;
            for (value, key) in [(&model.api, "api"), (&model.base_url, "baseUrl")] {
                if value.is_empty() {
                    return Err(format!(
                        "Provider {name}, model {}: no \"{key}\" specified.",
                        model.id
                    ));
                }
            }
            match models.iter_mut().find(|known| known.id == model.id) {
                Some(known) => *known = model,
                None => models.push(model),
            }
        }
        if let Some(overrides) = config.get("modelOverrides").and_then(Value::as_object) {
            for model in &mut models {
                if let Some(change) = overrides.get(&model.id) {
                    change_model(model, change)?;
                }
            }
        }
        Ok(models)
    }
}

/// What a new model inherits: from the file's provider, else from a model that the provider has already.
fn defaults(config: &Value, known: Option<&Model>) -> Value {
    let mut defaults = json!({});
    for key in ["api", "baseUrl"] {
        let inherited = known.map(|model| match key {
            "api" => json!(model.api),
            _ => json!(model.base_url),
        });
        if let Some(value) = config.get(key).cloned().or(inherited) {
            defaults[key] = value;
        }
    }
    defaults
}

/// The provider's endpoint and compatibility, for models that were there before.
fn apply(model: &mut Model, config: &Value) -> Result<(), String> {
    if let Some(url) = config.get("baseUrl").and_then(Value::as_str) {
        model.base_url = url.to_string();
    }
    match config.get("compat") {
        Some(compat) => change_model(model, &json!({ "compat": compat })),
        None => Ok(()),
    }
}

/// Object members merge field by field, others replace.
fn change_model(model: &mut Model, change: &Value) -> Result<(), String> {
    let mut value = json!(model);
    merge_into(&mut value, change);
    *model = serde_json::from_value(value).map_err(|error| {
        format!(
            "Provider {}, override of model {}: {error}",
            model.provider, model.id
        )
    })?;
    Ok(())
}

fn list<'a>(config: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    config
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn check_name(name: &str) -> Result<(), String> {
    match name {
        PROVIDER => Err("this is the name of the embedded model; choose another".into()),
        _ => Ok(()),
    }
}

/// Requests cannot be made anywhere else, and would fail again with each attempt.
fn check_url(config: &Value) -> Result<(), String> {
    match config.get("baseUrl").and_then(Value::as_str) {
        Some(url)
            if !["http://", "https://"]
                .iter()
                .any(|scheme| url.starts_with(scheme)) =>
        {
            Err(format!(
                "\"baseUrl\" must begin with http:// or https://, not \"{url}\""
            ))
        }
        _ => Ok(()),
    }
}

fn check_provider(config: &Value) -> Result<(), String> {
    let Value::Object(members) = config else {
        return Err("must be an object".into());
    };
    for key in ["name", "baseUrl", "apiKey", "api"] {
        if members.get(key).is_some_and(|value| !value.is_string()) {
            return Err(format!("\"{key}\" must be a string"));
        }
    }
    if members
        .get("authHeader")
        .is_some_and(|value| !value.is_boolean())
    {
        return Err("\"authHeader\" must be true or false".into());
    }
    check_headers(config)?;
    check_url(config)?;
    for key in ["compat", "modelOverrides"] {
        if members.get(key).is_some_and(|value| !value.is_object()) {
            return Err(format!("\"{key}\" must be an object"));
        }
    }
    if members.get("models").is_some_and(|value| !value.is_array()) {
        return Err("\"models\" must be an array".into());
    }
    for (index, model) in list(config, "models").enumerate() {
        match model.get("id").and_then(Value::as_str) {
            Some(id) if !id.is_empty() => {
                check_headers(model)
                    .and_then(|()| check_url(model))
                    .map_err(|problem| format!("model \"{id}\": {problem}"))?;
            }
            _ => return Err(format!("model {} has no \"id\"", index + 1)),
        }
    }
    Ok(())
}

fn check_headers(config: &Value) -> Result<(), String> {
    let Some(headers) = config.get("headers") else {
        return Ok(());
    };
    let Value::Object(headers) = headers else {
        return Err("\"headers\" must be an object".into());
    };
    match headers.iter().find(|(_, value)| !value.is_string()) {
        Some((name, _)) => Err(format!("header \"{name}\" must be a string")),
        None => Ok(()),
    }
}

/// The text with `//` and `/* */` comments blanked; people comment files that they write by hand.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        match (in_string, c, chars.peek()) {
            (true, '\\', Some(_)) => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            (_, '"', _) => in_string = !in_string,
            (false, '/', Some('/')) => {
                while chars.peek().is_some_and(|next| *next != '\n') {
                    chars.next();
                }
                continue;
            }
            (false, '/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                for next in chars.by_ref() {
                    // Line breaks stay, so that errors name the right line.
                    if next == '\n' {
                        out.push(next);
                    }
                    if last == '*' && next == '/' {
                        break;
                    }
                    last = next;
                }
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ModelsFile {
        ModelsFile::parse(text).unwrap()
    }

    fn known(id: &str) -> Model {
        Model {
            id: id.into(),
            provider: "p".into(),
            api: "openai-completions".into(),
            base_url: "http://old".into(),
            ..Model::default()
        }
    }

    #[test]
    fn models_are_added_replaced_and_changed() {
        let file = parse(
            r#"{ // people comment
            "providers": {"p": {"baseUrl": "http://new/*not a comment*/", "compat": {"a": 1},
              "models": [{"id": "b", "reasoning": true}, {"id": "c", "api": "anthropic-messages", "compat": {"b": 2}}],
              "modelOverrides": {"a": {"name": "A", "cost": {"input": 3}}, "zzz": {"name": "nobody"}}}}}"#,
        );
        let models = file.compose("p", vec![known("a"), known("b")]).unwrap();
        let ids: Vec<_> = models.iter().map(|model| model.id.as_str()).collect();
        assert_eq!(ids, ["a", "b", "c"]);
        assert_eq!(models[0].base_url, "http://new/*not a comment*/");
        assert_eq!(
            (models[0].name.as_str(), models[0].cost.rates.input),
            ("A", 3.0)
        );
        assert!(models[1].reasoning && models[1].context_window == 128_000);
        assert_eq!(models[2].api, "anthropic-messages");
        assert_eq!(models[2].extra["compat"], json!({"a": 1, "b": 2}));
        assert_eq!(
            file.compose("other", vec![known("x")]).unwrap(),
            [known("x")]
        );
    }

    #[test]
    fn a_complete_provider_needs_nobody_else() {
        let file = parse(
            r#"{"providers": {
            "own": {"baseUrl": "http://u", "api": "openai-completions", "models": [{"id": "m"}]},
            "moved": {"baseUrl": "http://u"},
            "more": {"models": [{"id": "m"}]}}}"#,
        );
        assert!(!file.needs_others("own") && !file.needs_others("nowhere"));
        assert!(file.needs_others("moved") && file.needs_others("more"));
        let problem = file.compose("more", Vec::new()).unwrap_err();
        assert_eq!(problem, "Provider more, model m: no \"api\" specified.");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("{", "line 1"),
            ("{}", "\"providers\" must be an object"),
            (
                r#"{"providers": {"p": {"baseUrl": 1}}}"#,
                "provider \"p\": \"baseUrl\" must be a string",
            ),
            (
                r#"{"providers": {"p": {"baseUrl": "localhost:1/v1"}}}"#,
                "provider \"p\": \"baseUrl\" must begin with http:// or https://",
            ),
            (
                r#"{"providers": {"scripted": {"baseUrl": "http://x"}}}"#,
                "name of the embedded model",
            ),
            (
                r#"{"providers": {"p": {"models": [{}]}}}"#,
                "provider \"p\": model 1 has no \"id\"",
            ),
            (
                r#"{"providers": {"p": {"headers": {"h": 1}}}}"#,
                "header \"h\" must be a string",
            ),
        ] {
            let problem = ModelsFile::parse(text).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }

    #[test]
    fn no_file_is_no_problem() {
        let dir = tempfile::tempdir().unwrap();
        let file = ModelsFile::load(&dir.path().join("models.json")).unwrap();
        assert_eq!(file.names().count(), 0);
    }
}
