//! Finds the models that flags name (`spec/cli.md` §2.1).

use std::sync::Arc;

use pier_agent::agent_session::ScopedModel;
use pier_protocol::model::{Model, ThinkingLevel};

/// A model and what was said along with it.
#[derive(Debug, PartialEq)]
pub(super) struct Found {
    pub(super) model: Arc<Model>,
    pub(super) thinking_level: Option<ThinkingLevel>,
    pub(super) warning: Option<String>,
}

/// The model for `--model PATTERN`, looked for among `provider`'s models if one is given. `usable` says which could be asked now.
///
/// # Errors
/// A sentence that repeats the pattern.
pub(super) fn find(
    models: &[Arc<Model>],
    provider: Option<&str>,
    pattern: &str,
    usable: &dyn Fn(&Model) -> bool,
) -> Result<Found, String> {
    let found = |model: Arc<Model>, level| Found {
        model,
        thinking_level: level,
        warning: None,
    };
    let candidates = of_provider(models, provider);
    if let Some(model) = best_usable(&candidates, pattern, usable) {
        return Ok(found(model, None));
    }
    let (rest, level) = split_level(pattern);
    if level.is_some()
        && let Some(model) = best_usable(&candidates, rest, usable)
    {
        return Ok(found(model, level));
    }
    let (known, id) = match (provider, rest.split_once('/')) {
        (Some(provider), _) => (
            provider,
            rest.strip_prefix(provider)
                .and_then(|id| id.strip_prefix('/'))
                .unwrap_or(rest),
        ),
        (None, Some((provider, id))) => (provider, id),
        (None, None) => {
            return Err(format!(
                "No model matches \"{pattern}\"; --list-models shows what there is"
            ));
        }
    };
    match models.iter().find(|model| model.provider == known) {
        Some(sibling) if !id.is_empty() => Ok(Found {
            model: Arc::new(Model {
                id: id.to_owned(),
                name: id.to_owned(),
                ..(**sibling).clone()
            }),
            thinking_level: level,
            warning: Some(format!(
                "Model \"{id}\" not found for provider \"{known}\". Using custom model id."
            )),
        }),
        _ => Err(format!(
            "No model matches \"{pattern}\": there is no provider \"{known}\" with models"
        )),
    }
}

/// The models for a list of patterns, each once, in the order of the patterns. The second part
/// names patterns without a match.
pub(super) fn scope(models: &[Arc<Model>], patterns: &[String]) -> (Vec<ScopedModel>, Vec<String>) {
    let mut scoped: Vec<ScopedModel> = Vec::new();
    let mut unmatched = Vec::new();
    for pattern in patterns {
        let (rest, level) = if models.iter().any(|model| names(model, pattern)) {
            (pattern.as_str(), None)
        } else {
            split_level(pattern)
        };
        let matching: Vec<_> = if rest.contains('*') {
            models
                .iter()
                .filter(|model| matches(rest, &model.key()) || matches(rest, &model.id))
                .cloned()
                .collect()
        } else {
            best(models, rest).into_iter().collect()
        };
        if matching.is_empty() {
            unmatched.push(format!("No models match pattern \"{pattern}\""));
        }
        for model in matching {
            if !scoped.iter().any(|known| known.model.key() == model.key()) {
                scoped.push(ScopedModel {
                    model,
                    thinking_level: level,
                });
            }
        }
    }
    (scoped, unmatched)
}

/// Whether a text with `*` for any run of characters covers the whole of another, ignoring case.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn of_provider(models: &[Arc<Model>], provider: Option<&str>) -> Vec<Arc<Model>> {
    models
        .iter()
        .filter(|model| provider.is_none_or(|name| model.provider == name))
        .cloned()
        .collect()
}

fn names(model: &Model, pattern: &str) -> bool {
    model.id == pattern || model.key() == pattern
}

/// Exact id or `provider/id`, then the same ignoring case, then the shortest id that contains the text.
fn best(models: &[Arc<Model>], pattern: &str) -> Option<Arc<Model>> {
    if pattern.is_empty() {
        return None;
    }
    let wanted = pattern.to_lowercase();
    let exact = models.iter().find(|model| names(model, pattern));
    let same = || {
        models
            .iter()
            .find(|model| model.id.to_lowercase() == wanted || model.key().to_lowercase() == wanted)
    };
    let part = || {
        models
            .iter()
            .filter(|model| {
                model.key().to_lowercase().contains(&wanted)
                    || model.name.to_lowercase().contains(&wanted)
            })
            .min_by_key(|model| model.id.len())
    };
    exact.or_else(same).or_else(part).cloned()
}

/// The model that is named in full, else the best one that can be asked, else the best one.
fn best_usable(
    models: &[Arc<Model>],
    pattern: &str,
    usable: &dyn Fn(&Model) -> bool,
) -> Option<Arc<Model>> {
    let named = models.iter().find(|model| model.key() == pattern);
    named.cloned().or_else(|| {
        let mut asked: Vec<_> = models.to_vec();
        asked.retain(|model| usable(model));
        best(&asked, pattern).or_else(|| best(models, pattern))
    })
}

fn split_level(pattern: &str) -> (&str, Option<ThinkingLevel>) {
    match pattern.rsplit_once(':') {
        Some((rest, word)) => match ThinkingLevel::parse(word) {
            Some(level) => (rest, Some(level)),
            None => (pattern, None),
        },
        None => (pattern, None),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pier_protocol::model::{Model, ThinkingLevel};

    use super::{find, matches, scope};

    fn models() -> Vec<Arc<Model>> {
        [
            ("p", "big-2", "Big Two"),
            ("p", "big-2-mini", "Big Two Mini"),
            ("q", "big-2", "Other"),
            ("q", "a:low", "Odd"),
        ]
        .into_iter()
        .map(|(provider, id, name)| {
            Arc::new(Model {
                id: id.into(),
                name: name.into(),
                provider: provider.into(),
                ..Model::default()
            })
        })
        .collect()
    }

    fn key(
        provider: Option<&str>,
        pattern: &str,
    ) -> Result<(String, Option<ThinkingLevel>), String> {
        find(&models(), provider, pattern, &|_| true)
            .map(|found| (found.model.key(), found.thinking_level))
    }

    #[test]
    fn exact_names_come_before_parts_of_names() {
        assert_eq!(key(None, "big-2"), Ok(("p/big-2".into(), None)));
        assert_eq!(key(None, "q/big-2"), Ok(("q/big-2".into(), None)));
        assert_eq!(key(Some("q"), "big"), Ok(("q/big-2".into(), None)));
        assert_eq!(key(None, "MINI"), Ok(("p/big-2-mini".into(), None)));
    }

    #[test]
    fn models_that_can_be_asked_come_first_unless_one_is_named_in_full() {
        let of_q = |pattern| {
            find(&models(), None, pattern, &|model| model.provider == "q")
                .map(|found| found.model.key())
        };
        assert_eq!(of_q("big-2"), Ok("q/big-2".into()));
        assert_eq!(of_q("big"), Ok("q/big-2".into()));
        assert_eq!(of_q("p/big-2"), Ok("p/big-2".into()));
        assert_eq!(of_q("mini"), Ok("p/big-2-mini".into()));
    }

    #[test]
    fn a_level_is_split_off_only_when_the_whole_is_no_model() {
        assert_eq!(
            key(None, "big-2:high"),
            Ok(("p/big-2".into(), Some(ThinkingLevel::High)))
        );
        assert_eq!(key(None, "a:low"), Ok(("q/a:low".into(), None)));
    }

    #[test]
    fn an_unknown_id_of_a_known_provider_is_used_with_a_warning() {
        let found = find(&models(), None, "p/newest:low", &|_| true).expect("custom");
        assert_eq!(
            (found.model.key().as_str(), found.thinking_level),
            ("p/newest", Some(ThinkingLevel::Low))
        );
        assert_eq!(
            found.warning.as_deref(),
            Some("Model \"newest\" not found for provider \"p\". Using custom model id.")
        );
        assert!(find(&models(), None, "zzz", &|_| true).is_err());
        assert!(find(&models(), Some("none"), "zzz", &|_| true).is_err());
    }

    #[test]
    fn scopes_take_globs_and_levels_and_keep_their_order() {
        let patterns = [
            "q/*".to_owned(),
            "big-2-mini:low".to_owned(),
            "nothing".to_owned(),
        ];
        let (scoped, unmatched) = scope(&models(), &patterns);
        let keys: Vec<_> = scoped.iter().map(|one| one.model.key()).collect();
        assert_eq!(keys, ["q/big-2", "q/a:low", "p/big-2-mini"]);
        assert_eq!(scoped[2].thinking_level, Some(ThinkingLevel::Low));
        assert_eq!(unmatched, ["No models match pattern \"nothing\""]);
    }

    #[test]
    fn stars_match_any_run() {
        assert!(
            matches("a*c", "aXXc")
                && matches("*", "")
                && matches("A*", "abc")
                && matches("*b*", "abc")
        );
        assert!(!matches("a*c", "ab") && !matches("abc", "abcd") && !matches("a*a", "a"));
    }
}
