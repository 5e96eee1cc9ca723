//! Tool calls: spec/agent-loop.md §3.2, §4.1; spec/extension-api.md §6.4, §10.

use std::sync::Arc;

use pier_agent::hooks::{ToolBlock, ToolCallOutcome, ToolResultPatch};
use pier_agent::tool::{ExecutionMode, ToolOutput};
use pier_protocol::event::AgentEvent;
use pier_protocol::message::{Block, Message, StopReason};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::lab::{Lab, Setup, demo_tools, heads, set, tool};

#[tokio::test]
async fn a_parallel_batch_ends_in_completion_order_and_is_recorded_in_call_order() {
    let lab = Lab::new().await.warmed().await;
    let lines = lab
        .run("@tool slow {\"ms\":300,\"tag\":\"A\"}\n@tool slow {\"ms\":50,\"tag\":\"B\"}\n@tool echo {\"text\":\"C\"}")
        .await;
    assert_eq!(
        lines[4..],
        [
            "message_start assistant pending []",
            "message_end assistant toolUse [<slow call_1> <slow call_2> <echo call_3>]",
            "tool_execution_start call_1",
            "tool_execution_start call_2",
            "tool_execution_start call_3",
            "tool_execution_update call_3 [partial C]",
            "tool_execution_end call_3 [echoed C]",
            "tool_execution_end call_2 [slept 50 B]",
            "tool_execution_end call_1 [slept 300 A]",
            "message_start toolResult call_1 [slept 300 A]",
            "message_end toolResult call_1 [slept 300 A]",
            "message_start toolResult call_2 [slept 50 B]",
            "message_end toolResult call_2 [slept 50 B]",
            "message_start toolResult call_3 [echoed C]",
            "message_end toolResult call_3 [echoed C]",
            "turn_end toolUse 3",
            "turn_start",
            "message_start assistant pending []",
            "message_end assistant stop [results: slow=slept 300 A | slow=slept 50 B | echo=echoed C]",
            "turn_end stop 0",
            "agent_end 6 false",
            "agent_settled false",
        ]
    );
}

#[tokio::test]
async fn one_sequential_tool_makes_the_batch_sequential() {
    let lab = Lab::new().await.warmed().await;
    let lines = lab
        .run("@tool slow {\"ms\":30,\"tag\":\"A\"}\n@tool seq {\"tag\":\"B\"}\n@tool echo {\"text\":\"C\"}")
        .await;
    assert_eq!(
        lines[6..18],
        [
            "tool_execution_start call_1",
            "tool_execution_end call_1 [slept 30 A]",
            "message_start toolResult call_1 [slept 30 A]",
            "message_end toolResult call_1 [slept 30 A]",
            "tool_execution_start call_2",
            "tool_execution_end call_2 [seq B]",
            "message_start toolResult call_2 [seq B]",
            "message_end toolResult call_2 [seq B]",
            "tool_execution_start call_3",
            "tool_execution_update call_3 [partial C]",
            "tool_execution_end call_3 [echoed C]",
            "message_start toolResult call_3 [echoed C]",
        ]
    );
}

#[tokio::test]
async fn the_agent_wide_setting_makes_every_batch_sequential() {
    let lab = Lab::with_settings(json!({"toolExecution": "sequential"}))
        .await
        .warmed()
        .await;
    let lines = lab
        .run("@tool echo {\"text\":\"A\"}\n@tool echo {\"text\":\"B\"}")
        .await;
    let order: Vec<_> = heads(&lines, 2)
        .into_iter()
        .filter(|line| line.starts_with("tool_execution_"))
        .collect();
    assert_eq!(
        order,
        [
            "tool_execution_start call_1",
            "tool_execution_update call_1",
            "tool_execution_end call_1",
            "tool_execution_start call_2",
            "tool_execution_update call_2",
            "tool_execution_end call_2",
        ]
    );
}

#[tokio::test]
async fn calls_that_cannot_run_end_before_the_next_one_starts() {
    let lab = Lab::new().await.warmed().await;
    set(&lab.hooks.tool_call, |event| ToolCallOutcome {
        block: (event.input["text"] == "blockme").then(|| ToolBlock {
            reason: Some("blocked by demo".into()),
            terminate: false,
        }),
        ..ToolCallOutcome::default()
    });
    let lines =
        lab.run("@tool boom {}\n@tool nosuch {}\n@tool echo {\"n\":1}\n@tool echo {\"text\":\"blockme\"}").await;
    assert_eq!(
        lines[6..14],
        [
            "tool_execution_start call_1",
            "tool_execution_start call_2",
            "tool_execution_end call_2 [Tool nosuch not found] ERR never ran",
            "tool_execution_start call_3",
            "tool_execution_end call_3 [Validation failed for tool \"echo\":\n  - text: missing\n\nReceived arguments:\n{\n  \"n\": 1\n}] ERR never ran",
            "tool_execution_start call_4",
            "tool_execution_end call_4 [blocked by demo] ERR never ran",
            "tool_execution_end call_1 [boom failed] ERR",
        ]
    );
    assert!(lines.contains(&"turn_end toolUse 4".to_owned()));
}

#[tokio::test]
async fn events_show_raw_arguments_and_the_tool_gets_coerced_ones() {
    let lab = Lab::new().await.warmed().await;
    lab.log.take();
    lab.start("@tool echo {\"text\":\"hi\",\"n\":\"3\"}").await;
    lab.settled().await;
    let events = lab.log.events();
    let (mut raw, mut used) = (None, None);
    for event in &events {
        match &**event {
            AgentEvent::ToolExecutionStart { args, .. } => raw = Some(args["n"].clone()),
            AgentEvent::ToolExecutionEnd { result, .. } => used = result.details.clone(),
            _ => {}
        }
    }
    assert_eq!(raw, Some(json!("3")));
    let n = &used.unwrap()["n"];
    assert_eq!(n.as_f64(), Some(3.0), "{n}");
}

#[tokio::test]
async fn a_tool_call_handler_may_change_the_arguments() {
    let lab = Lab::new().await.warmed().await;
    set(&lab.hooks.tool_call, |event| {
        let mut input = event.input;
        input["text"] = json!("changed");
        ToolCallOutcome {
            input: Some(input),
            block: None,
        }
    });
    let lines = lab.run("@tool echo {\"text\":\"hi\"}").await;
    assert!(
        lines.contains(&"tool_execution_end call_1 [echoed changed]".to_owned()),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn a_block_without_a_reason_says_so_and_may_end_the_run() {
    let lab = Lab::new().await.warmed().await;
    set(&lab.hooks.tool_call, |_| ToolCallOutcome {
        block: Some(ToolBlock {
            reason: None,
            terminate: true,
        }),
        ..ToolCallOutcome::default()
    });
    let lines = lab.run("@tool echo {\"text\":\"hi\"}").await;
    assert!(lines.contains(
        &"tool_execution_end call_1 [Tool execution was blocked] ERR never ran".to_owned()
    ));
    assert_eq!(
        lines.iter().filter(|line| *line == "turn_start").count(),
        1,
        "{lines:#?}"
    );
}

#[tokio::test]
async fn terminate_ends_the_run_only_when_every_result_asks_for_it() {
    let lab = Lab::new().await.warmed().await;
    let lines = lab.run("@tool finish {}").await;
    assert_eq!(
        lines[lines.len() - 3..],
        [
            "turn_end toolUse 1",
            "agent_end 3 false",
            "agent_settled false"
        ]
    );
    let mixed = lab
        .run("@tool finish {}\n@tool echo {\"text\":\"x\"}")
        .await;
    assert!(mixed.contains(
        &"message_end assistant stop [results: finish=finished | echo=echoed x]".to_owned()
    ));
}

#[tokio::test]
async fn calls_of_an_answer_that_hit_the_limit_do_not_run() {
    let lab = Lab::new().await.warmed().await;
    let lines = lab.run("@stop length\n@tool echo {\"text\":\"cut\"}").await;
    assert_eq!(heads(&lines[5..], 3)[0], "message_end assistant length");
    assert_eq!(
        lines[7],
        "tool_execution_end call_1 [Tool call \"echo\" was not executed: the response hit the output token limit, so its \
arguments may be truncated. Re-issue the tool call with complete arguments.] ERR never ran"
    );
    assert_eq!(lines[10], "turn_end length 1");
    assert!(
        lines[13].starts_with("message_end assistant stop [results: echo=ERR:Tool call"),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn calls_of_a_stopped_answer_run_all_the_same() {
    let lab = Lab::new().await.warmed().await;
    let lines = lab.run("@stop stop\n@tool echo {\"text\":\"x\"}").await;
    assert!(
        lines.contains(&"tool_execution_end call_1 [echoed x]".to_owned()),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn every_ending_of_a_tool() {
    let tools = vec![
        tool(
            "says_error",
            json!({"type": "object"}),
            ExecutionMode::Parallel,
            |_| async {
                Ok(ToolOutput {
                    is_error: Some(true),
                    details: Some(json!({"kept": 1})),
                    ..ToolOutput::text("bad")
                })
            },
        ),
        tool(
            "panics",
            json!({"type": "object"}),
            ExecutionMode::Parallel,
            |call| async move {
                assert_eq!(call.id, "never", "a tool that panics");
                Ok(ToolOutput::default())
            },
        ),
        tool(
            "late_update",
            json!({"type": "object"}),
            ExecutionMode::Parallel,
            |call| async move {
                let updates = call.updates.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(std::time::Duration::from_millis(30)).await;
                    updates.send(ToolOutput::text("too late"));
                });
                call.updates.send(ToolOutput::text("in time"));
                Ok(ToolOutput::text("ok"))
            },
        ),
    ];
    let mut all = demo_tools();
    all.extend(tools);
    let lab = Lab::with(Setup {
        tools: all,
        ..Setup::default()
    })
    .await
    .warmed()
    .await;
    lab.log.take();
    lab.start("@tool says_error {}\n@tool panics {}\n@tool boom {}\n@tool late_update {}\n@tool slow {\"ms\":80,\"tag\":\"z\"}").await;
    lab.settled().await;
    let lines = lab.log.lines();
    for expected in [
        "message_end toolResult call_1 [bad] ERR",
        "message_end toolResult call_2 [Tool panics failed internally] ERR",
        "message_end toolResult call_3 [boom failed] ERR",
        "tool_execution_update call_4 [in time]",
        "message_end toolResult call_4 [ok]",
    ] {
        assert!(
            lines.iter().any(|line| line == expected),
            "{expected} in {lines:#?}"
        );
    }
    assert!(!lines.iter().any(|line| line.contains("too late")));
    let messages = lab.session.messages();
    let details = |id: &str| {
        let result = messages
            .iter()
            .filter_map(|message| message.as_tool_result())
            .find(|result| result.tool_call_id == id);
        result.unwrap().details.clone()
    };
    assert_eq!(details("call_1"), Some(json!({"kept": 1})));
    assert_eq!(
        details("call_3"),
        Some(json!({})),
        "a thrown error has empty details"
    );
}

#[tokio::test]
async fn tool_result_handlers_patch_what_they_name() {
    let structured = tool(
        "st",
        json!({"type": "object"}),
        ExecutionMode::Parallel,
        |_| async {
            Ok(ToolOutput {
                structured_content: Some(json!({"a": 1})),
                ..ToolOutput::text("plain")
            })
        },
    );
    let mut tools = demo_tools();
    tools.push(structured);
    let lab = Lab::with(Setup {
        tools,
        ..Setup::default()
    })
    .await
    .warmed()
    .await;
    set(&lab.hooks.tool_result, |event| {
        match event.tool_name.as_str() {
            "st" => ToolResultPatch {
                content: Some(vec![Block::text("new")]),
                ..ToolResultPatch::default()
            },
            "boom" => {
                assert!(event.is_error);
                ToolResultPatch {
                    is_error: Some(false),
                    content: Some(vec![Block::text("fine")]),
                    ..Default::default()
                }
            }
            _ => ToolResultPatch {
                is_error: Some(true),
                ..ToolResultPatch::default()
            },
        }
    });
    lab.log.take();
    lab.start("@tool st {}\n@tool boom {}\n@tool echo {\"text\":\"x\"}\n@tool nosuch {}")
        .await;
    lab.settled().await;
    let lines = lab.log.lines();
    for expected in [
        "message_end toolResult call_1 [new]",
        "message_end toolResult call_2 [fine]",
        "message_end toolResult call_3 [echoed x] ERR",
        "message_end toolResult call_4 [Tool nosuch not found] ERR",
    ] {
        assert!(
            lines.iter().any(|line| line == expected),
            "{expected} in {lines:#?}"
        );
    }
    let dropped = lab.log.events().iter().any(|event| {
        matches!(&**event, AgentEvent::ToolExecutionEnd { result, .. } if result.structured_content.is_some())
    });
    assert!(!dropped, "structured content described the old content");
}

#[tokio::test]
async fn a_tool_calls_other_tools_through_the_same_pipeline() {
    let outer = tool(
        "outer",
        json!({"type": "object"}),
        ExecutionMode::Parallel,
        |call| async move {
            let nested = call.context.nested.clone().unwrap();
            let good = nested
                .execute(
                    "echo",
                    json!({"text": "in", "n": "4"}),
                    CancellationToken::new(),
                    None,
                )
                .await;
            let bad = nested
                .execute("nosuch", json!({}), CancellationToken::new(), None)
                .await;
            assert!(!good.is_error && bad.is_error && bad.duration_ms.is_none());
            assert_eq!(good.tool_call.id, format!("{}/1", call.id));
            Ok(ToolOutput::text(pier_protocol::message::joined_text(
                &good.result.content,
            )))
        },
    );
    let mut tools = demo_tools();
    tools.push(outer);
    let lab = Lab::with(Setup {
        tools,
        ..Setup::default()
    })
    .await
    .warmed()
    .await;
    let parents = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let seen = parents.clone();
    set(&lab.hooks.tool_call, move |event| {
        seen.lock()
            .push((event.tool_call_id, event.parent_tool_call_id));
        ToolCallOutcome::default()
    });
    lab.log.take();
    lab.start("@tool outer {}").await;
    lab.settled().await;
    let order: Vec<_> = heads(&lab.log.lines(), 2)
        .into_iter()
        .filter(|line| line.starts_with("tool_execution_"))
        .collect();
    assert_eq!(
        order,
        [
            "tool_execution_start call_1",
            "tool_execution_start call_1/1",
            "tool_execution_update call_1/1",
            "tool_execution_end call_1/1",
            "tool_execution_start call_1/2",
            "tool_execution_end call_1/2",
            "tool_execution_end call_1",
        ]
    );
    assert_eq!(
        *parents.lock(),
        [
            ("call_1".to_owned(), None),
            ("call_1/1".to_owned(), Some("call_1".to_owned()))
        ]
    );
    let messages = lab.session.messages();
    let result = messages
        .iter()
        .rev()
        .find_map(|message| message.as_tool_result())
        .unwrap();
    let nested = result.nested_calls.as_ref().unwrap();
    assert!(nested.complete);
    let statuses: Vec<_> = nested
        .calls
        .iter()
        .map(|call| call.status.as_str())
        .collect();
    assert_eq!(statuses, ["ok", "error"]);
    assert!(messages.iter().all(|message| {
        message
            .as_tool_result()
            .is_none_or(|r| !r.tool_call_id.contains('/'))
    }));
}

#[tokio::test]
async fn a_tool_registered_during_a_run_is_offered_with_the_next_request() {
    let lab = Lab::new().await.warmed().await;
    let registry = lab.session.tools();
    set(&lab.hooks.tool_call, move |_| {
        registry.register(
            "late",
            tool(
                "late",
                json!({"type": "object"}),
                ExecutionMode::Parallel,
                |_| async { Ok(ToolOutput::text("l")) },
            ),
        );
        ToolCallOutcome::default()
    });
    let lines = lab.run("@tool echo {\"text\":\"x\"}").await;
    let second_turn = lines.iter().rposition(|line| line == "turn_start").unwrap();
    assert_eq!(lines[second_turn + 1], "message_start system", "{lines:#?}");
    let patch = lab
        .session
        .messages()
        .iter()
        .rev()
        .find_map(|message| match &**message {
            Message::System(system) => Some(system.clone()),
            _ => None,
        });
    let added: Vec<_> = patch
        .unwrap()
        .tools_added
        .unwrap()
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(added, ["late"]);
    assert_eq!(
        lab.session
            .messages()
            .last()
            .and_then(|message| message.as_assistant().map(|a| a.stop_reason.clone())),
        Some(StopReason::Stop)
    );
}

#[tokio::test]
async fn the_model_can_only_call_what_it_is_offered() {
    let outer = tool(
        "outer",
        json!({"type": "object"}),
        ExecutionMode::Parallel,
        |call| async move {
            let nested = call.context.nested.clone().unwrap();
            let inactive = nested
                .execute(
                    "echo",
                    json!({"text": "in"}),
                    CancellationToken::new(),
                    None,
                )
                .await;
            let excluded = nested
                .execute("boom", json!({}), CancellationToken::new(), None)
                .await;
            Ok(ToolOutput::text(format!(
                "{} {}",
                inactive.is_error, excluded.is_error
            )))
        },
    );
    let mut tools = demo_tools();
    tools.push(outer);
    let lab = Lab::with(Setup {
        tools,
        ..Setup::default()
    })
    .await
    .warmed()
    .await;
    let registry = lab.session.tools();
    registry.set_filter(pier_agent::tool::ToolFilter {
        allow: None,
        exclude: ["boom".to_owned()].into(),
    });
    lab.session
        .set_active_tools(&["outer".to_owned(), "boom".to_owned()]);
    assert_eq!(lab.session.active_tools(), ["outer"]);
    let lines = lab
        .run("@tool echo {\"text\":\"x\"}\n@tool boom {}\n@tool outer {}")
        .await;
    for expected in [
        "message_end toolResult call_1 [Tool echo not found] ERR",
        "message_end toolResult call_2 [Tool boom not found] ERR",
        "message_end toolResult call_3 [false true]",
    ] {
        assert!(
            lines.iter().any(|line| line == expected),
            "{expected} in {lines:#?}"
        );
    }
}
