//! Messages of extensions: every row of the matrix in spec/extension-api.md §3.1. The pure function behind it has tests of its own
//! (`agent_session::delivery`); here is what becomes of the message.
//!
//! | State | `deliverAs` | `triggerTurn` | Rules | Test |
//! |---|---|---|---|---|
//! | busy | none, steer | none, true | all | `busy_it_steers_by_default` |
//! | busy | none, steer | false | xcsh | `under_xcsh_rules_an_explicit_no_still_steers` |
//! | busy | none, steer | any, `interruptMode: "immediate"` | all | `queues::an_immediate_interrupt_…` |
//! | busy | followUp | none, true | all | `busy_a_follow_up_waits_until_the_run_would_stop` |
//! | busy | followUp | false | xcsh | `under_xcsh_rules_an_explicit_no_still_follows_up` |
//! | busy | none, steer, followUp | false | host, pi | `an_explicit_no_is_stored_at_the_end_of_the_turn` |
//! | busy | nextTurn | none, false | all | `next_turn_waits_for_the_next_user_prompt` |
//! | busy | nextTurn | true | host, pi | `next_turn_waits_for_the_next_user_prompt` |
//! | busy | nextTurn | true | xcsh | `under_xcsh_rules_a_busy_next_turn_with_a_trigger_continues` |
//! | idle | none, steer, followUp | none, false | all | `idle_without_a_trigger_it_is_stored` |
//! | idle | none, steer, followUp | true | all | `idle_with_a_trigger_it_starts_a_run` |
//! | idle | nextTurn | none, true | host, pi | `next_turn_waits_for_the_next_user_prompt` |
//! | idle | nextTurn | none, true | xcsh | `under_xcsh_rules_next_turn_is_stored_or_starts_a_run_when_idle` |
//! | nextTurn list | | | all | `held_messages_survive_an_abort_and_no_new_session` |
//! | idle, trigger: pipeline | | true | pi, xcsh | `only_under_pi_rules_a_trigger_goes_through_before_agent_start` |
//!
//! `sendUserMessage` (§3.2) is in `prompting`, queue draining in `queues`, null content and failure reports in `tests/specs/api`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pier_agent::agent_session::{CustomMessageRequest, DeliverAs, DeliveryOptions};
use pier_agent::hooks::BeforeAgentStartOutcome;
use pier_protocol::message::Content;
use serde_json::{Value, json};

use crate::lab::{Lab, heads, set};

fn message(text: &str) -> CustomMessageRequest {
    CustomMessageRequest {
        custom_type: "demo".into(),
        content: Content::Text(text.into()),
        display: true,
        ..CustomMessageRequest::default()
    }
}

fn options(deliver_as: Option<DeliverAs>, trigger_turn: Option<bool>) -> DeliveryOptions {
    DeliveryOptions {
        deliver_as,
        trigger_turn,
    }
}

async fn lab(rules: &str) -> Lab {
    let settings: Value = json!({"messageDelivery": rules});
    Lab::with_settings(settings).await.warmed().await
}

/// Sends while a slow tool runs; returns the events of the run.
async fn during_a_run(lab: &Lab, options: DeliveryOptions) -> Vec<String> {
    lab.log.take();
    lab.start("@text w\n@tool slow {\"ms\":120,\"tag\":\"A\"}")
        .await;
    lab.log.wait_for("tool_execution_start").await;
    lab.session.send_custom_message(message("custom"), options);
    lab.settled().await;
    lab.log.take()
}

/// Sends while idle; returns the events that follow.
async fn while_idle(lab: &Lab, options: DeliveryOptions, last: &str) -> Vec<String> {
    lab.log.take();
    lab.session.send_custom_message(message("custom"), options);
    lab.log.wait_for(last).await;
    lab.settled().await;
    lab.log.take()
}

const STEER: Option<DeliverAs> = Some(DeliverAs::Steer);
const FOLLOW: Option<DeliverAs> = Some(DeliverAs::FollowUp);
const NEXT: Option<DeliverAs> = Some(DeliverAs::NextTurn);
const RULES: [&str; 3] = ["host", "pi", "xcsh"];

/// Every first with every second.
fn pairs<A: Copy, B: Copy>(first: &[A], second: &[B]) -> Vec<(A, B)> {
    let with = |a: A| second.iter().map(move |b| (a, *b));
    first.iter().flat_map(|a| with(*a)).collect()
}

#[tokio::test]
async fn idle_without_a_trigger_it_is_stored() {
    for rules in RULES {
        for (deliver_as, trigger) in pairs(&[None, STEER, FOLLOW], &[None, Some(false)]) {
            let lab = lab(rules).await;
            let options = options(deliver_as, trigger);
            let lines = while_idle(&lab, options, "message_end custom").await;
            assert_eq!(
                lines,
                [
                    "message_start custom [custom]",
                    "message_end custom [custom]"
                ]
            );
            assert_eq!(lab.entry_types().last().unwrap(), "custom_message");
        }
    }
}

#[tokio::test]
async fn idle_storage_is_visible_at_once() {
    let lab = lab("host").await;
    lab.session
        .send_custom_message(message("custom"), options(None, None));
    assert_eq!(lab.entry_types().last().unwrap(), "custom_message");
}

#[tokio::test]
async fn idle_with_a_trigger_it_starts_a_run() {
    for (rules, deliver_as) in pairs(&RULES, &[None, STEER, FOLLOW]) {
        let lab = lab(rules).await;
        let lines = while_idle(&lab, options(deliver_as, Some(true)), "agent_settled").await;
        assert_eq!(
            heads(&lines, 3),
            [
                "agent_start",
                "turn_start",
                "message_start custom [custom]",
                "message_end custom [custom]",
                "message_start assistant pending",
                "message_end assistant stop",
                "turn_end stop 0",
                "agent_end 2 false",
                "agent_settled false",
            ]
        );
    }
}

#[tokio::test]
async fn busy_it_steers_by_default() {
    for (rules, (deliver_as, trigger)) in pairs(&RULES, &pairs(&[None, STEER], &[None, Some(true)]))
    {
        let lab = lab(rules).await;
        let lines = during_a_run(&lab, options(deliver_as, trigger)).await;
        let at = lines
            .iter()
            .position(|line| line == "message_start custom [custom]")
            .unwrap();
        assert_eq!(lines[at - 1], "turn_start", "{lines:#?}");
        assert_eq!(lines[at + 3], "message_end assistant stop [echo: custom]");
        assert!(
            !lines.iter().any(|line| line.starts_with("queue_update")),
            "custom messages are not listed"
        );
        assert_eq!(lines[lines.len() - 2], "agent_end 5 false");
    }
}

#[tokio::test]
async fn busy_a_follow_up_waits_until_the_run_would_stop() {
    for (rules, trigger) in pairs(&RULES, &[None, Some(true)]) {
        let lab = lab(rules).await;
        follows_up(&during_a_run(&lab, options(FOLLOW, trigger)).await);
    }
}

fn follows_up(lines: &[String]) {
    let at = lines
        .iter()
        .position(|line| line == "message_start custom [custom]")
        .unwrap();
    assert_eq!(lines[at - 2], "turn_end stop 0", "{lines:#?}");
    assert_eq!(lines[lines.len() - 2], "agent_end 6 false");
}

#[tokio::test]
async fn under_xcsh_rules_an_explicit_no_still_follows_up() {
    let lab = lab("xcsh").await;
    follows_up(&during_a_run(&lab, options(FOLLOW, Some(false))).await);
}

#[tokio::test]
async fn an_explicit_no_is_stored_at_the_end_of_the_turn() {
    for rules in ["host", "pi"] {
        for deliver_as in [None, STEER, FOLLOW] {
            let lab = lab(rules).await;
            let lines = during_a_run(&lab, options(deliver_as, Some(false))).await;
            let at = lines
                .iter()
                .position(|line| line == "message_start custom [custom]")
                .unwrap();
            assert_eq!(lines[at - 1], "turn_end toolUse 1", "{lines:#?}");
            assert_eq!(lines[at + 2], "turn_start");
            assert_eq!(
                lines[lines.len() - 2],
                "agent_end 4 false",
                "it is no part of the run"
            );
        }
    }
}

#[tokio::test]
async fn under_xcsh_rules_an_explicit_no_still_steers() {
    for deliver_as in [None, STEER] {
        let lab = lab("xcsh").await;
        let lines = during_a_run(&lab, options(deliver_as, Some(false))).await;
        let at = lines
            .iter()
            .position(|line| line == "message_start custom [custom]")
            .unwrap();
        assert_eq!(lines[at - 1], "turn_start");
    }
}

#[tokio::test]
async fn next_turn_waits_for_the_next_user_prompt() {
    for (rules, trigger) in pairs(&["host", "pi"], &[None, Some(false), Some(true)]) {
        let idle = lab(rules).await;
        idle.session
            .send_custom_message(message("custom"), options(NEXT, trigger));
        assert!(idle.session.is_idle() && idle.session.has_pending_messages());
        let lines = idle.run("go").await;
        assert_eq!(
            lines[2..6],
            [
                "message_start user [go]",
                "message_end user [go]",
                "message_start custom [custom]",
                "message_end custom [custom]",
            ]
        );
    }
    for (rules, trigger) in pairs(&RULES, &[None, Some(false), Some(true)]) {
        if (rules, trigger) == ("xcsh", Some(true)) {
            continue;
        }
        let busy = lab(rules).await;
        let lines = during_a_run(&busy, options(NEXT, trigger)).await;
        assert!(
            !lines.iter().any(|line| line.contains("custom")),
            "{lines:#?}"
        );
        let lines = busy.run("go").await;
        assert_eq!(lines[4], "message_start custom [custom]");
    }
}

#[tokio::test]
async fn held_messages_survive_an_abort_and_no_new_session() {
    let lab = lab("host").await;
    lab.start("@tool slow {\"ms\":60000,\"tag\":\"A\"}").await;
    lab.log.wait_for("tool_execution_start").await;
    lab.session
        .send_custom_message(message("custom"), options(NEXT, None));
    lab.session.abort().await;
    let lines = lab.run("go").await;
    assert_eq!(lines[4], "message_start custom [custom]");
    lab.session
        .send_custom_message(message("custom"), options(NEXT, None));
    assert!(!lab.session.new_session(None).await.unwrap());
    let lines = lab.run("go").await;
    assert!(
        !lines.iter().any(|line| line.contains("custom")),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn only_under_pi_rules_a_trigger_goes_through_before_agent_start() {
    for (rules, expected) in [("host", 0), ("xcsh", 0), ("pi", 1)] {
        let lab = lab(rules).await;
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        set(&lab.hooks.before_agent_start, move |event| {
            assert_eq!(event.prompt, "custom");
            count.fetch_add(1, Ordering::SeqCst);
            BeforeAgentStartOutcome::default()
        });
        while_idle(&lab, options(None, Some(true)), "agent_settled").await;
        assert_eq!(asked.load(Ordering::SeqCst), expected, "{rules}");
    }
}

#[tokio::test]
async fn under_xcsh_rules_next_turn_is_stored_or_starts_a_run_when_idle() {
    for trigger in [None, Some(false)] {
        let stored = lab("xcsh").await;
        let lines = while_idle(&stored, options(NEXT, trigger), "message_end custom").await;
        assert_eq!(
            lines,
            [
                "message_start custom [custom]",
                "message_end custom [custom]"
            ]
        );
    }
    let run = lab("xcsh").await;
    let lines = while_idle(&run, options(NEXT, Some(true)), "agent_settled").await;
    assert_eq!(lines[0], "agent_start");
}

#[tokio::test]
async fn under_xcsh_rules_a_busy_next_turn_with_a_trigger_continues() {
    let lab = lab("xcsh").await;
    lab.log.take();
    lab.start("@tool slow {\"ms\":120,\"tag\":\"A\"}").await;
    lab.log.wait_for("tool_execution_start").await;
    lab.session
        .send_custom_message(message("custom"), options(NEXT, Some(true)));
    lab.log
        .wait_for("message_end assistant stop [echo: custom]")
        .await;
    lab.settled().await;
    let lines = lab.log.take();
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.starts_with("agent_settled"))
            .count(),
        2,
        "{lines:#?}"
    );
}
