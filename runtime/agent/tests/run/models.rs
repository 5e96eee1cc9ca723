//! Models and thinking levels: spec/agent-loop.md §8.

use pier_protocol::model::ThinkingLevel;
use serde_json::json;

use crate::lab::{Lab, Setup};

#[tokio::test]
async fn cycling_models_and_levels_as_recorded() {
    let lab = Lab::new().await;
    assert_eq!(lab.session.thinking_level(), ThinkingLevel::Off);
    let next = lab.session.cycle_model().await.unwrap();
    assert_eq!(
        (next.model.id.as_str(), next.thinking_level, next.is_scoped),
        ("scripted-think", ThinkingLevel::Off, false)
    );
    assert_eq!(
        lab.session.cycle_thinking_level().await,
        Some(ThinkingLevel::Minimal)
    );
    assert_eq!(
        lab.session.cycle_thinking_level().await,
        Some(ThinkingLevel::Low)
    );
    let next = lab.session.cycle_model().await.unwrap();
    assert_eq!(
        (next.model.id.as_str(), next.thinking_level),
        ("scripted-small", ThinkingLevel::Off)
    );
    assert_eq!(lab.session.cycle_thinking_level().await, None);
    assert_eq!(
        lab.log.take(),
        [
            "thinking_level_changed minimal",
            "thinking_level_changed low",
            "thinking_level_changed off"
        ]
    );
    assert_eq!(
        lab.session.set_thinking_level(ThinkingLevel::High).await,
        ThinkingLevel::Off
    );
    assert_eq!(
        lab.session.available_thinking_levels(),
        [ThinkingLevel::Off]
    );
}

#[tokio::test]
async fn a_switch_always_writes_an_entry_and_takes_the_configured_level() {
    let settings = json!({"defaultThinkingLevel": "low", "modelThinkingLevels": {"scripted/scripted-think": "high"}});
    let lab = Lab::with(Setup {
        settings,
        ..Setup::default()
    })
    .await;
    lab.session
        .set_model("scripted", "scripted-think")
        .await
        .unwrap();
    assert_eq!(lab.session.thinking_level(), ThinkingLevel::High);
    let before = lab.entry_types().len();
    lab.session
        .set_model("scripted", "scripted-think")
        .await
        .unwrap();
    assert_eq!(lab.entry_types()[before..], ["model_change"]);
    let error = lab.session.set_model("scripted", "nope").await.unwrap_err();
    assert_eq!(error.to_string(), "Model not found: scripted/nope");
}

#[tokio::test]
async fn the_request_uses_the_level_and_the_answer_names_it() {
    let lab = Lab::with(Setup {
        model: "scripted-think",
        ..Setup::default()
    })
    .await;
    assert_eq!(
        lab.session.thinking_level(),
        ThinkingLevel::Medium,
        "the default level"
    );
    lab.session.set_thinking_level(ThinkingLevel::Max).await;
    assert_eq!(
        lab.session.thinking_level(),
        ThinkingLevel::High,
        "clamped to what the model has"
    );
    lab.run("x").await;
    let messages = lab.session.messages();
    let answer = messages
        .last()
        .and_then(|message| message.as_assistant())
        .unwrap();
    assert_eq!(answer.thinking_level.as_deref(), Some("high"));
}
