//! The commands as types (docs/rpc.md, "Commands").

use serde::Serialize;
use serde_json::Value;

/// How a prompt joins a run that is active.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Behaviour {
    /// Before the next answer of the model.
    Steer,
    /// When the run would end.
    FollowUp,
}

/// A command without its id.
#[derive(Debug, Clone, Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Command {
    Prompt {
        message: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        streaming_behavior: Option<Behaviour>,
    },
    Steer {
        message: String,
    },
    FollowUp {
        message: String,
    },
    Abort,
    ClearQueue,
    AbortAndPrompt {
        message: String,
    },
    GetState,
    GetMessages,
    GetLastAssistantText,
    GetSessionStats,
    GetCommands,
    SetModel {
        provider: String,
        model_id: String,
    },
    CycleModel,
    GetAvailableModels,
    SetThinkingLevel {
        level: String,
    },
    Compact {
        #[serde(skip_serializing_if = "Option::is_none")]
        custom_instructions: Option<String>,
    },
    Bash {
        command: String,
    },
    AbortBash,
    NewSession,
    SwitchSession {
        session_path: String,
    },
    Fork {
        entry_id: String,
    },
    Clone,
    GetForkMessages,
    GetEntries {
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<String>,
    },
    GetTree,
    SetSessionName {
        name: String,
    },
    ExportHtml {
        #[serde(skip_serializing_if = "Option::is_none")]
        output_path: Option<String>,
    },
}

impl Command {
    /// A prompt that needs an idle session.
    pub fn prompt(message: impl Into<String>) -> Self {
        Self::Prompt {
            message: message.into(),
            images: Vec::new(),
            streaming_behavior: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Behaviour, Command};
    use serde_json::json;

    #[test]
    fn commands_have_the_names_of_the_wire() {
        let steering = Command::Prompt {
            message: "m".into(),
            images: Vec::new(),
            streaming_behavior: Some(Behaviour::FollowUp),
        };
        assert_eq!(
            json!(steering),
            json!({"type": "prompt", "message": "m", "streamingBehavior": "followUp"})
        );
        let model = Command::SetModel {
            provider: "p".into(),
            model_id: "m".into(),
        };
        assert_eq!(
            json!(model),
            json!({"type": "set_model", "provider": "p", "modelId": "m"})
        );
    }
}
