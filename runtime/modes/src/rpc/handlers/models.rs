//! Model and thinking level (`spec/rpc.md` §3.3).

use pier_protocol::model::ThinkingLevel;
use serde_json::{Value, json};

use super::Outcome;
use crate::rpc::models::wire_model;
use crate::rpc::server::{Reply, Server};

impl Server {
    pub(super) async fn set_model(&self, provider: &str, id: &str) -> Outcome {
        let model = self
            .session
            .set_model(provider, id)
            .await
            .map_err(|error| error.to_string())?;
        Reply::data(&wire_model(&model))
    }

    pub(super) async fn cycle_model(&self) -> Outcome {
        let cycled = self
            .session
            .cycle_model()
            .await
            .map_or(Value::Null, |cycled| {
                json!({
                    "model": wire_model(&cycled.model),
                    "thinkingLevel": cycled.thinking_level,
                    "isScoped": cycled.is_scoped,
                })
            });
        Reply::data(&cycled)
    }

    pub(super) fn available_models(&self) -> Outcome {
        let models: Vec<_> = self
            .session
            .providers()
            .available_models()
            .iter()
            .map(|model| wire_model(model))
            .collect();
        Reply::data(&json!({ "models": models }))
    }

    pub(super) async fn set_thinking_level(&self, level: ThinkingLevel) -> Outcome {
        self.session.set_thinking_level(level).await;
        Ok(Reply::Done)
    }

    pub(super) async fn cycle_thinking_level(&self) -> Outcome {
        let level = self.session.cycle_thinking_level().await;
        Reply::data(&level.map_or(Value::Null, |level| json!({ "level": level })))
    }

    pub(super) fn available_thinking_levels(&self) -> Outcome {
        Reply::data(&json!({ "levels": self.session.available_thinking_levels() }))
    }
}
