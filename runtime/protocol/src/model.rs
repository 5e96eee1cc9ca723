//! Models and thinking levels (spec/rpc.md §4.1, spec/agent-loop.md §8). Data and pure look-ups only.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::block::Extra;
use crate::message::PerKind;
use crate::num;

/// How hard a reasoning model should think, weakest first.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    #[default]
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl ThinkingLevel {
    pub const ALL: [ThinkingLevel; 7] = [
        ThinkingLevel::Off,
        ThinkingLevel::Minimal,
        ThinkingLevel::Low,
        ThinkingLevel::Medium,
        ThinkingLevel::High,
        ThinkingLevel::Xhigh,
        ThinkingLevel::Max,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            ThinkingLevel::Off => "off",
            ThinkingLevel::Minimal => "minimal",
            ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High => "high",
            ThinkingLevel::Xhigh => "xhigh",
            ThinkingLevel::Max => "max",
        }
    }

    /// `None` for a word that names no level.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

impl std::fmt::Display for ThinkingLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A model as clients and extensions see it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    pub id: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub api: String,
    #[serde(default)]
    pub provider: String,
    #[serde(default)]
    pub base_url: String,
    #[serde(default)]
    pub reasoning: bool,
    /// `text`, `image`.
    #[serde(default)]
    pub input: Vec<String>,
    #[serde(default)]
    pub cost: ModelCost,
    /// Tokens; zero when unknown.
    #[serde(default, deserialize_with = "num::deserialize_u64")]
    pub context_window: u64,
    /// Most output tokens of one response; zero when unknown.
    #[serde(default, deserialize_with = "num::deserialize_u64")]
    pub max_tokens: u64,
    /// Level word to provider value; `null` removes a level, `xhigh` and `max` exist only when listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level_map: Option<IndexMap<String, Value>>,
    /// `headers`, `compat`, `samplingParams`, `inputLimits`, `promptCache`, `type` …
    #[serde(flatten)]
    pub extra: Extra,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCost {
    #[serde(flatten)]
    pub rates: PerKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tiers: Option<Vec<CostTier>>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Rates that apply once input + cacheRead + cacheWrite exceeds `input_tokens_above`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CostTier {
    #[serde(default, deserialize_with = "num::deserialize_u64")]
    pub input_tokens_above: u64,
    #[serde(flatten)]
    pub rates: PerKind,
}

impl Model {
    /// `provider/id`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    pub fn accepts_images(&self) -> bool {
        self.input.iter().any(|kind| kind == "image")
    }

    /// Levels that this model supports, weakest first; `[off]` for a model without reasoning.
    pub fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        if !self.reasoning {
            return vec![ThinkingLevel::Off];
        }
        let entry = |level: ThinkingLevel| {
            self.thinking_level_map
                .as_ref()
                .and_then(|map| map.get(level.as_str()))
        };
        ThinkingLevel::ALL
            .into_iter()
            .filter(|level| {
                let unlisted = matches!(level, ThinkingLevel::Xhigh | ThinkingLevel::Max)
                    && entry(*level).is_none();
                let removed = matches!(entry(*level), Some(Value::Null));
                !unlisted && !removed
            })
            .collect()
    }

    /// The nearest supported level: the next higher one, else the next lower one.
    pub fn clamp_level(&self, wanted: ThinkingLevel) -> ThinkingLevel {
        let levels = self.thinking_levels();
        levels
            .iter()
            .copied()
            .find(|level| *level >= wanted)
            .or_else(|| levels.last().copied())
            .unwrap_or(ThinkingLevel::Off)
    }
}
