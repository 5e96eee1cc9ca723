//! Flags that choose the model.

use super::{Takes, first, flag, list};

flag! {
    /// Model to use: an id, provider/id or part of a name, with an optional :LEVEL of thinking.
    ModelFlag, "model"; Model; Takes::One("PATTERN");
    |args, values| { args.model.pattern = Some(first(values)); Ok(()) }
}

flag! {
    /// Look for --model among this provider's models only.
    Provider, "provider"; Model; Takes::One("NAME");
    |args, values| { args.model.provider = Some(first(values)); Ok(()) }
}

flag! {
    /// How much the model thinks: off, minimal, low, medium, high, xhigh or max.
    Thinking, "thinking"; Model; Takes::One("LEVEL");
    |args, values| { args.model.thinking = Some(first(values)); Ok(()) }
}

flag! {
    /// Models to start with and to cycle through; comma-separated patterns, * matches anything.
    Models, "models"; Model; Takes::One("PATTERNS");
    |args, values| { args.model.scope.extend(list(&first(values))); Ok(()) }
}

flag! {
    /// Credential for the chosen model's provider; kept in memory only.
    ApiKey, "api-key"; Model; Takes::One("KEY");
    |args, values| { args.model.api_key = Some(first(values)); Ok(()) }
}

flag! {
    /// List the models that can be used, or those that match TEXT, and exit.
    ListModels, "list-models"; Model; Takes::Optional("TEXT");
    |args, values| { args.model.list = Some(values.first().cloned()); Ok(()) }
}

flag! {
    /// Let the scripted provider answer from this file instead of from the prompt.
    Script, "script"; Model; Takes::One("FILE");
    |args, values| { args.script = Some(first(values)); Ok(()) }
}

#[cfg(test)]
mod tests {
    use crate::flags::parse;

    #[test]
    fn model_and_provider_are_kept_apart() {
        let args = parse(&["--provider", "p", "--model", "m:high", "--thinking", "low"])
            .expect("parses")
            .model;
        assert_eq!(args.provider.as_deref(), Some("p"));
        assert_eq!(args.pattern.as_deref(), Some("m:high"));
        assert_eq!(args.thinking.as_deref(), Some("low"));
    }

    #[test]
    fn models_split_at_commas_and_add_up() {
        assert_eq!(
            parse(&["--models", "a, b,,c", "--models", "d"])
                .expect("parses")
                .model
                .scope,
            ["a", "b", "c", "d"]
        );
    }

    #[test]
    fn api_key_and_script_take_anything() {
        let args = parse(&["--api-key", "-k", "--script", "-s"]).expect("parses");
        assert_eq!(
            (args.model.api_key.as_deref(), args.script.as_deref()),
            (Some("-k"), Some("-s"))
        );
    }

    #[test]
    fn list_models_may_search() {
        assert_eq!(
            parse(&["--list-models"]).expect("parses").model.list,
            Some(None)
        );
        assert_eq!(
            parse(&["--list-models", "x"]).expect("parses").model.list,
            Some(Some("x".into()))
        );
        assert_eq!(
            parse(&["--list-models", "-p"]).expect("parses").model.list,
            Some(None)
        );
    }
}
