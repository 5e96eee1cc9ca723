//! Every command of every dialect, with its fields checked (`spec/rpc.md` §3).
//!
//! Decoding only. What a command does is in `super::handlers`.

use pier_protocol::block::ImageBlock;
use pier_protocol::model::ThinkingLevel;
use serde_json::Value;

use super::fields::Fields;
use super::record::{Request, unknown};

/// What to do with a prompt when a run is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamingBehavior {
    /// Deliver between two turns.
    Steer,
    /// Deliver when the run would stop.
    FollowUp,
}

/// How a queue is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryMode {
    /// The whole queue in one turn.
    All,
    /// One message a turn.
    OneAtATime,
}

impl StreamingBehavior {
    /// The session's word for it.
    pub(crate) fn into_agent(self) -> pier_agent::hooks::StreamingBehavior {
        match self {
            Self::Steer => pier_agent::hooks::StreamingBehavior::Steer,
            Self::FollowUp => pier_agent::hooks::StreamingBehavior::FollowUp,
        }
    }
}

impl DeliveryMode {
    /// The word on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::OneAtATime => "one-at-a-time",
        }
    }
}

/// Whether steering may cut a batch of tools short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InterruptMode {
    /// The rest of the batch is aborted.
    Immediate,
    /// The batch ends first.
    Wait,
}

impl InterruptMode {
    /// The word on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Wait => "wait",
        }
    }
}

/// Text and images of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Input {
    pub(crate) message: String,
    pub(crate) images: Vec<ImageBlock>,
}

/// A decoded command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Command {
    Prompt {
        input: Input,
        streaming_behavior: Option<StreamingBehavior>,
        locale: Option<String>,
    },
    Steer(Input),
    FollowUp(Input),
    Abort,
    ClearQueue,
    AbortAndPrompt(Input),
    NewSession {
        parent_session: Option<String>,
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
    SetThinkingLevel(ThinkingLevel),
    CycleThinkingLevel,
    GetAvailableThinkingLevels,
    SetSteeringMode(DeliveryMode),
    SetFollowUpMode(DeliveryMode),
    SetInterruptMode(InterruptMode),
    Compact {
        custom_instructions: Option<String>,
    },
    SetAutoCompaction(bool),
    SetAutoRetry(bool),
    AbortRetry,
    Bash {
        command: String,
        exclude_from_context: bool,
    },
    AbortBash,
    ExportHtml {
        output_path: Option<String>,
    },
    SwitchSession {
        session_path: String,
    },
    Fork {
        entry_id: String,
    },
    Clone,
    GetForkMessages,
    GetEntries {
        since: Option<String>,
    },
    GetTree,
    SetSessionName {
        name: String,
    },
    SetLocale {
        locale: String,
    },
    SetTodos {
        phases: Vec<Value>,
    },
    SetHostTools {
        tools: Vec<Value>,
    },
    GetIntegrations,
}

const STREAMING: &[(&str, StreamingBehavior)] = &[
    ("steer", StreamingBehavior::Steer),
    ("followUp", StreamingBehavior::FollowUp),
];
const DELIVERY: &[(&str, DeliveryMode)] = &[
    ("all", DeliveryMode::All),
    ("one-at-a-time", DeliveryMode::OneAtATime),
];
const INTERRUPT: &[(&str, InterruptMode)] = &[
    ("immediate", InterruptMode::Immediate),
    ("wait", InterruptMode::Wait),
];

/// Whether a request of this kind neither needs an extension nor changes what a later request finds.
pub(crate) fn needs_no_extension(kind: &str) -> bool {
    matches!(
        kind,
        "abort"
            | "abort_bash"
            | "abort_retry"
            | "clear_queue"
            | "get_branch_messages"
            | "get_entries"
            | "get_fork_messages"
            | "get_last_assistant_text"
            | "get_messages"
            | "get_session_stats"
            | "get_state"
            | "get_tree"
    )
}

impl Command {
    /// Decodes a request.
    ///
    /// # Errors
    /// A sentence that names the command and the field.
    pub(crate) fn decode(request: &Request) -> Result<Self, String> {
        let fields = Fields::new(&request.kind, &request.fields);
        Ok(match request.kind.as_str() {
            "prompt" => Self::Prompt {
                input: input(&fields)?,
                streaming_behavior: fields.optional_word("streamingBehavior", STREAMING)?,
                locale: fields.optional_string("locale")?,
            },
            "steer" => Self::Steer(input(&fields)?),
            "follow_up" => Self::FollowUp(input(&fields)?),
            "abort" => Self::Abort,
            "clear_queue" => Self::ClearQueue,
            "abort_and_prompt" => Self::AbortAndPrompt(input(&fields)?),
            "new_session" => Self::NewSession {
                parent_session: fields.optional_string("parentSession")?,
            },
            "get_state" => Self::GetState,
            "get_messages" => Self::GetMessages,
            "get_last_assistant_text" => Self::GetLastAssistantText,
            "get_session_stats" => Self::GetSessionStats,
            "get_commands" => Self::GetCommands,
            "set_model" => Self::SetModel {
                provider: fields.string("provider")?,
                model_id: fields.string("modelId")?,
            },
            "cycle_model" => Self::CycleModel,
            "get_available_models" => Self::GetAvailableModels,
            "set_thinking_level" => {
                let levels = ThinkingLevel::ALL.map(|level| (level.as_str(), level));
                Self::SetThinkingLevel(fields.word("level", &levels)?)
            }
            "cycle_thinking_level" => Self::CycleThinkingLevel,
            "get_available_thinking_levels" => Self::GetAvailableThinkingLevels,
            "set_steering_mode" => Self::SetSteeringMode(fields.word("mode", DELIVERY)?),
            "set_follow_up_mode" => Self::SetFollowUpMode(fields.word("mode", DELIVERY)?),
            "set_interrupt_mode" => Self::SetInterruptMode(fields.word("mode", INTERRUPT)?),
            "compact" => Self::Compact {
                custom_instructions: fields.optional_string("customInstructions")?,
            },
            "set_auto_compaction" => Self::SetAutoCompaction(fields.boolean("enabled")?),
            "set_auto_retry" => Self::SetAutoRetry(fields.boolean("enabled")?),
            "abort_retry" => Self::AbortRetry,
            "bash" => Self::Bash {
                command: fields.string("command")?,
                exclude_from_context: fields.flag("excludeFromContext")?,
            },
            "abort_bash" => Self::AbortBash,
            "export_html" => Self::ExportHtml {
                output_path: fields.optional_string("outputPath")?,
            },
            "switch_session" => Self::SwitchSession {
                session_path: fields.string("sessionPath")?,
            },
            "fork" | "branch" => Self::Fork {
                entry_id: fields.string("entryId")?,
            },
            "clone" => Self::Clone,
            "get_fork_messages" | "get_branch_messages" => Self::GetForkMessages,
            "get_entries" => Self::GetEntries {
                since: fields.optional_string("since")?,
            },
            "get_tree" => Self::GetTree,
            "set_session_name" => Self::SetSessionName {
                name: fields.string("name")?,
            },
            "set_locale" => Self::SetLocale {
                locale: fields.string("locale")?,
            },
            "set_todos" => Self::SetTodos {
                phases: fields.array("phases")?.to_vec(),
            },
            "set_host_tools" => Self::SetHostTools {
                tools: fields.array("tools")?.to_vec(),
            },
            "get_integrations" => Self::GetIntegrations,
            other => return Err(unknown(other)),
        })
    }
}

fn input(fields: &Fields<'_>) -> Result<Input, String> {
    Ok(Input {
        message: fields.string("message")?,
        images: fields.images()?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Command, DeliveryMode, Input, StreamingBehavior};
    use crate::rpc::record::Request;

    fn decode(value: Value) -> Result<Command, String> {
        let Value::Object(fields) = value else {
            panic!("an object")
        };
        let kind = fields["type"].as_str().expect("type").to_owned();
        Command::decode(&Request {
            id: None,
            kind,
            fields,
        })
    }

    #[test]
    fn every_command_word_decodes_with_its_fields() {
        let words = json!([
            {"type":"prompt","message":"m"}, {"type":"steer","message":"m"}, {"type":"follow_up","message":"m"},
            {"type":"abort"}, {"type":"clear_queue"}, {"type":"abort_and_prompt","message":"m"}, {"type":"new_session"},
            {"type":"get_state"}, {"type":"get_messages"}, {"type":"get_last_assistant_text"}, {"type":"get_session_stats"},
            {"type":"get_commands"}, {"type":"set_model","provider":"p","modelId":"m"}, {"type":"cycle_model"},
            {"type":"get_available_models"}, {"type":"set_thinking_level","level":"max"}, {"type":"cycle_thinking_level"},
            {"type":"get_available_thinking_levels"}, {"type":"set_steering_mode","mode":"all"},
            {"type":"set_follow_up_mode","mode":"one-at-a-time"}, {"type":"set_interrupt_mode","mode":"wait"}, {"type":"compact"},
            {"type":"set_auto_compaction","enabled":true}, {"type":"set_auto_retry","enabled":false}, {"type":"abort_retry"},
            {"type":"bash","command":"c"}, {"type":"abort_bash"}, {"type":"export_html"}, {"type":"switch_session","sessionPath":"s"},
            {"type":"fork","entryId":"e"}, {"type":"branch","entryId":"e"}, {"type":"clone"}, {"type":"get_fork_messages"},
            {"type":"get_branch_messages"}, {"type":"get_entries"}, {"type":"get_tree"}, {"type":"set_session_name","name":"n"},
            {"type":"set_locale","locale":"de"}, {"type":"set_todos","phases":[]}, {"type":"set_host_tools","tools":[]},
            {"type":"get_integrations"}
        ]);
        for record in words.as_array().expect("array") {
            decode(record.clone()).unwrap_or_else(|error| panic!("{record}: {error}"));
        }
    }

    #[test]
    fn a_prompt_carries_images_and_delivery_and_ignores_unknown_members() {
        let command = decode(json!({
            "type": "prompt", "message": "look", "streamingBehavior": "followUp", "unknown": {"x": 1},
            "images": [{"type": "image", "data": "AA==", "mimeType": "image/png"}]
        }));
        let Ok(Command::Prompt {
            input: Input { message, images },
            streaming_behavior,
            ..
        }) = command
        else {
            panic!("{command:?}")
        };
        assert_eq!(
            (message.as_str(), images[0].mime_type.as_str()),
            ("look", "image/png")
        );
        assert_eq!(streaming_behavior, Some(StreamingBehavior::FollowUp));
    }

    #[test]
    fn complaints_name_command_and_field() {
        let cases = [
            (
                json!({"type":"prompt"}),
                "prompt: \"message\" must be a string; it is missing",
            ),
            (
                json!({"type":"prompt","message":5}),
                "prompt: \"message\" must be a string; it is a number",
            ),
            (
                json!({"type":"prompt","message":"m","images":"x"}),
                "prompt: \"images\" must be an array; it is a string",
            ),
            (
                json!({"type":"prompt","message":"m","images":[{"type":"image","data":1}]}),
                "prompt: \"images[0].data\" must be a string",
            ),
            (
                json!({"type":"set_steering_mode","mode":"bogus"}),
                "set_steering_mode: \"mode\" must be one of all, one-at-a-time, not \"bogus\"",
            ),
            (
                json!({"type":"set_auto_retry","enabled":"yes"}),
                "set_auto_retry: \"enabled\" must be true or false; it is a string",
            ),
            (json!({"type":"nope"}), "Unknown command: nope"),
        ];
        for (record, complaint) in cases {
            assert_eq!(decode(record), Err(complaint.to_owned()));
        }
    }

    #[test]
    fn null_counts_as_missing_for_optional_members() {
        let record = json!({"type":"set_follow_up_mode","mode":"all"});
        assert_eq!(
            decode(record),
            Ok(Command::SetFollowUpMode(DeliveryMode::All))
        );
        assert!(
            decode(json!({"type":"prompt","message":"","images":null,"streamingBehavior":null}))
                .is_ok()
        );
    }
}
