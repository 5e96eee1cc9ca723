//! From merged JSON to the typed [`Settings`].

use std::path::PathBuf;

use indexmap::IndexMap;
use pier_protocol::model::ThinkingLevel;
use serde_json::{Map, Value};

use super::{CompactionSettings, DeliveryRules, InterruptMode, QueueMode, RetrySettings, Settings};

/// Reads values of one object and reports those of a wrong type by their full key.
struct Reader<'a> {
    prefix: &'static str,
    map: Option<&'a Map<String, Value>>,
}

impl<'a> Reader<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.map
            .and_then(|map| map.get(key))
            .filter(|value| !value.is_null())
    }

    fn typed<T>(
        &self,
        key: &str,
        expected: &str,
        warnings: &mut Vec<String>,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(key)?;
        let result = read(value);
        if result.is_none() {
            warnings.push(format!(
                "Setting \"{}{key}\" must be {expected}; it is ignored",
                self.prefix
            ));
        }
        result
    }

    fn bool(&self, key: &str, warnings: &mut Vec<String>) -> Option<bool> {
        self.typed(key, "true or false", warnings, Value::as_bool)
    }

    fn u64(&self, key: &str, warnings: &mut Vec<String>) -> Option<u64> {
        self.typed(key, "a non-negative number", warnings, |value| {
            value
                .as_f64()
                .filter(|number| *number >= 0.0)
                .map(|number| number as u64)
        })
    }

    fn string(&self, key: &str, warnings: &mut Vec<String>) -> Option<&'a str> {
        self.typed(key, "a string", warnings, Value::as_str)
    }
}

impl Settings {
    /// The typed view of merged settings; values of a wrong type are reported and count as absent.
    pub fn from_merged(raw: Map<String, Value>, warnings: &mut Vec<String>) -> Self {
        let top = Reader {
            prefix: "",
            map: Some(&raw),
        };
        let section = |key: &'static str, prefix: &'static str| Reader {
            prefix,
            map: raw.get(key).and_then(Value::as_object),
        };
        let compaction = section("compaction", "compaction.");
        let retry = section("retry", "retry.");
        let branch_summary = section("branchSummary", "branchSummary.");
        let images = section("images", "images.");

        let mut settings = Settings {
            steering_mode: top
                .string("steeringMode", warnings)
                .map(QueueMode::parse)
                .unwrap_or_default(),
            follow_up_mode: top
                .string("followUpMode", warnings)
                .map(QueueMode::parse)
                .unwrap_or_default(),
            interrupt_mode: top
                .string("interruptMode", warnings)
                .map(InterruptMode::parse)
                .unwrap_or_default(),
            delivery: match top.string("messageDelivery", warnings) {
                None | Some("host") => DeliveryRules::Host,
                Some("xcsh") => DeliveryRules::Xcsh,
                Some("pi") => DeliveryRules::Pi,
                Some(other) => {
                    warnings.push(format!(
                        "Setting \"messageDelivery\" must be \"host\", \"xcsh\" or \"pi\", not \"{other}\"; it is ignored"
                    ));
                    DeliveryRules::Host
                }
            },
            sequential_tools: top.string("toolExecution", warnings) == Some("sequential"),
            branch_summary_reserve_tokens: branch_summary.u64("reserveTokens", warnings),
            block_images: images.bool("blockImages", warnings).unwrap_or(false),
            resize_images: images.bool("autoResize", warnings).unwrap_or(true),
            default_provider: top.string("defaultProvider", warnings).map(str::to_owned),
            default_model: top.string("defaultModel", warnings).map(str::to_owned),
            default_thinking_level: top.typed(
                "defaultThinkingLevel",
                "a thinking level",
                warnings,
                level,
            ),
            model_thinking_levels: levels(&top, warnings),
            enabled_models: top
                .typed("enabledModels", "an array of strings", warnings, |value| {
                    value
                        .as_array()?
                        .iter()
                        .map(|item| item.as_str().map(str::to_owned))
                        .collect()
                })
                .unwrap_or_default(),
            shell_path: top.string("shellPath", warnings).map(PathBuf::from),
            shell_command_prefix: top
                .string("shellCommandPrefix", warnings)
                .map(str::to_owned),
            session_sync_ms: top.u64("sessionSyncMs", warnings),
            ..Settings::default()
        };
        let defaults = CompactionSettings::default();
        settings.compaction = CompactionSettings {
            enabled: compaction
                .bool("enabled", warnings)
                .unwrap_or(defaults.enabled),
            reserve_tokens: compaction
                .u64("reserveTokens", warnings)
                .unwrap_or(defaults.reserve_tokens),
            keep_recent_tokens: compaction
                .u64("keepRecentTokens", warnings)
                .unwrap_or(defaults.keep_recent_tokens),
        };
        let defaults = RetrySettings::default();
        settings.retry = RetrySettings {
            enabled: retry.bool("enabled", warnings).unwrap_or(defaults.enabled),
            max_retries: retry
                .u64("maxRetries", warnings)
                .map_or(defaults.max_retries, |count| {
                    u32::try_from(count).unwrap_or(u32::MAX)
                }),
            base_delay_ms: retry
                .u64("baseDelayMs", warnings)
                .unwrap_or(defaults.base_delay_ms),
            max_agent_delay_ms: retry
                .u64("maxAgentDelayMs", warnings)
                .unwrap_or(defaults.max_agent_delay_ms),
        };
        if let Some(overrides) =
            compaction.typed("modelOverrides", "an object", warnings, Value::as_object)
        {
            for (key, value) in overrides {
                match value.as_object() {
                    Some(map) => {
                        settings.compaction_overrides.insert(key.clone(), map.clone());
                    }
                    None => warnings
                        .push(format!("Setting \"compaction.modelOverrides.{key}\" must be an object; it is ignored")),
                }
            }
        }
        settings.raw = raw;
        settings
    }

    /// Compaction settings for a model, `key` being `provider/model`.
    pub fn compaction_for(&self, key: &str) -> CompactionSettings {
        let mut result = self.compaction.clone();
        if let Some(map) = self.compaction_overrides.get(key) {
            let number = |name: &str| {
                map.get(name)
                    .and_then(Value::as_f64)
                    .filter(|n| *n >= 0.0)
                    .map(|n| n as u64)
            };
            if let Some(enabled) = map.get("enabled").and_then(Value::as_bool) {
                result.enabled = enabled;
            }
            result.reserve_tokens = number("reserveTokens").unwrap_or(result.reserve_tokens);
            result.keep_recent_tokens =
                number("keepRecentTokens").unwrap_or(result.keep_recent_tokens);
        }
        result
    }
}

fn level(value: &Value) -> Option<ThinkingLevel> {
    value.as_str().and_then(ThinkingLevel::parse)
}

fn levels(top: &Reader<'_>, warnings: &mut Vec<String>) -> IndexMap<String, ThinkingLevel> {
    let mut result = IndexMap::new();
    let Some(map) = top.typed(
        "modelThinkingLevels",
        "an object",
        warnings,
        Value::as_object,
    ) else {
        return result;
    };
    for (key, value) in map {
        match level(value) {
            Some(level) => {
                result.insert(key.clone(), level);
            }
            None => warnings.push(format!(
                "Setting \"modelThinkingLevels.{key}\" must be a thinking level; it is ignored"
            )),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(text: &str) -> (Settings, Vec<String>) {
        let mut warnings = Vec::new();
        let Value::Object(map) = serde_json::from_str(text).unwrap() else {
            panic!("not an object")
        };
        (Settings::from_merged(map, &mut warnings), warnings)
    }

    #[test]
    fn defaults_apply_to_an_empty_object() {
        let (settings, warnings) = view("{}");
        assert!(warnings.is_empty());
        assert_eq!(settings.retry, RetrySettings::default());
        assert_eq!(settings.compaction.reserve_tokens, 16_384);
        assert_eq!(settings.steering_mode, QueueMode::OneAtATime);
        assert_eq!(settings.session_sync_ms, None);
        assert_eq!(view(r#"{"sessionSyncMs":0}"#).0.session_sync_ms, Some(0));
    }

    #[test]
    fn a_wrong_type_is_named_and_ignored() {
        let (settings, warnings) =
            view(r#"{"retry":{"maxRetries":"many"},"defaultThinkingLevel":"huge"}"#);
        assert_eq!(settings.retry.max_retries, 3);
        assert_eq!(warnings.len(), 2);
        assert!(warnings.iter().any(|w| w.contains("retry.maxRetries")));
        assert!(warnings.iter().any(|w| w.contains("defaultThinkingLevel")));
    }

    #[test]
    fn a_model_override_changes_only_what_it_names() {
        let (settings, _) = view(
            r#"{"compaction":{"reserveTokens":5,"modelOverrides":{"p/m":{"keepRecentTokens":7}}}}"#,
        );
        let overridden = settings.compaction_for("p/m");
        assert_eq!(
            (overridden.reserve_tokens, overridden.keep_recent_tokens),
            (5, 7)
        );
        assert_eq!(
            settings.compaction_for("p/other").keep_recent_tokens,
            20_000
        );
    }
}
