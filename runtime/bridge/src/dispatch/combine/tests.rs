//! Each combination rule, on plain JSON.

use pier_agent::prompt::PromptOptions;
use serde_json::json;

use super::*;

const A: Answerer<'static> = Answerer {
    path: "/a.ts",
    directory: "/",
    profile: Profile::Pi,
};
const B: Answerer<'static> = Answerer {
    path: "/b.ts",
    directory: "/",
    profile: Profile::Pi,
};

fn no_preview(_: &[Value]) -> Option<Value> {
    None
}

fn returned(value: Value) -> DispatchAnswer {
    DispatchAnswer {
        result: Some(value),
        ..DispatchAnswer::default()
    }
}

fn edited(members: Value) -> DispatchAnswer {
    DispatchAnswer {
        event: Some(event(members)),
        ..DispatchAnswer::default()
    }
}

#[test]
fn last_result_wins_and_cancel_stops() {
    let read = |by: Answerer<'_>, result: Map<String, Value>| match result.get("wrong") {
        Some(_) => Err("wrong".to_string()),
        None => Ok((result, by.path.to_string())),
    };
    let mut rule = LastResult::new(Map::new(), read);
    assert_eq!(
        rule.absorb(A, returned(json!({"cancel": false}))),
        Ok(Flow::Continue)
    );
    assert_eq!(
        rule.absorb(B, returned(json!({"cancel": true}))),
        Ok(Flow::Stop)
    );
    let (result, from) = rule.into_result().unwrap();
    assert_eq!(
        (result["cancel"].clone(), from.as_str()),
        (json!(true), "/b.ts")
    );

    let mut rule = LastResult::new(Map::new(), read);
    rule.absorb(A, returned(json!({"summary": "x"}))).unwrap();
    assert!(rule.absorb(B, returned(json!({"wrong": 1}))).is_err());
    rule.absorb(B, returned(Value::Null)).unwrap();
    rule.absorb(B, DispatchAnswer::default()).unwrap();
    assert_eq!(rule.into_result().unwrap().1, "/a.ts");
}

#[test]
fn first_result_needs_a_known_member() {
    let read = |by: Answerer<'_>, result: Map<String, Value>| match result.get("wrong") {
        Some(_) => Err("wrong".to_string()),
        None => Ok(by.path.to_string()),
    };
    let mut rule = FirstResult::new(Map::new(), &["result", "operations"], read);
    assert!(
        rule.absorb(A, returned(json!({"result": 1, "wrong": 1})))
            .is_err()
    );
    assert!(rule.absorb(A, returned(json!({"other": 1}))).is_err());
    assert_eq!(
        rule.absorb(A, DispatchAnswer::default()),
        Ok(Flow::Continue)
    );
    assert_eq!(
        rule.absorb(B, returned(json!({"result": {"output": ""}}))),
        Ok(Flow::Stop)
    );
    assert_eq!(rule.into_result().unwrap(), "/b.ts");
}

#[test]
fn trust_is_decided_by_the_first_yes_or_no() {
    let mut rule = TrustAnswer::new(Map::new());
    assert_eq!(
        rule.absorb(A, returned(json!({"trusted": "undecided"}))),
        Ok(Flow::Continue)
    );
    assert_eq!(
        rule.absorb(B, returned(json!({"trusted": "no", "remember": true}))),
        Ok(Flow::Stop)
    );
    assert_eq!(rule.decision, Some((false, true)));
}

#[test]
fn input_accepts_both_shapes_and_chains() {
    let start = || Input::new(event(json!({"text": "a", "source": "rpc"})));
    let picture = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let mut rule = start();
    rule.absorb(A, returned(json!({"text": "b"}))).unwrap();
    assert_eq!(rule.event()["text"], "b");
    rule.absorb(
        B,
        returned(json!({"action": "transform", "text": "c", "images": [picture]})),
    )
    .unwrap();
    let malformed = json!({"text": "d", "images": [{"type": "text", "text": "no"}]});
    assert!(rule.absorb(B, returned(malformed)).is_err());
    rule.absorb(
        B,
        returned(json!({"action": "continue", "text": "ignored"})),
    )
    .unwrap();
    rule.absorb(B, returned(json!({"images": [2]}))).unwrap();
    let InputOutcome::Continue { text, images } = rule.outcome() else {
        panic!("handled");
    };
    assert_eq!(text, "c");
    assert_eq!(images.unwrap()[0].data, "aGk=");

    for handled in [json!({"handled": true}), json!({"action": "handled"})] {
        let mut rule = start();
        assert_eq!(rule.absorb(A, returned(handled)), Ok(Flow::Stop));
        assert_eq!(rule.outcome(), InputOutcome::Handled);
    }
    assert!(start().absorb(A, returned(json!({"text": 3}))).is_err());
    assert!(start().absorb(A, returned(json!("text"))).is_err());
}

#[test]
fn agent_start_accumulates_messages_and_chains_the_prompt() {
    let base = PromptOptions {
        custom_prompt: Some("base".into()),
        ..PromptOptions::default()
    };
    let mut rule = AgentStart::new(event(json!({"prompt": "p"})), base.clone());
    assert_eq!(rule.event()["systemPrompt"], "base");
    let mut options = rule.event()["systemPromptOptions"].clone();
    options["sections"]["extra"] = json!("more");
    rule.absorb(A, edited(json!({"systemPromptOptions": options})))
        .unwrap();
    assert_eq!(
        rule.event()["systemPrompt"],
        "base\n\n<extra>\nmore\n</extra>",
        "an edit is rendered for the handlers that follow"
    );
    rule.absorb(
        A,
        returned(json!({"message": {"customType": "1"}, "systemPrompt": "base+A"})),
    )
    .unwrap();
    assert_eq!(rule.event()["systemPrompt"], "base+A");
    rule.absorb(
        B,
        returned(json!({"message": {"customType": "2"}, "systemPrompt": ["x", "y"]})),
    )
    .unwrap();
    assert!(
        rule.absorb(B, returned(json!({"message": {"content": "no type"}})))
            .is_err()
    );
    let (messages, options) = rule.into_outcome();
    let types: Vec<&str> = messages
        .iter()
        .map(|known| known.custom_type.as_str())
        .collect();
    assert_eq!(types, ["1", "2"]);
    let options = options.unwrap();
    assert_eq!(options.force_system_prompt.as_deref(), Some("x\n\ny"));
    assert_eq!(options.sections["extra"], "more");
    let mut rule = AgentStart::new(event(json!({})), base);
    let same = rule.event()["systemPromptOptions"].clone();
    rule.absorb(A, edited(json!({"systemPromptOptions": same})))
        .unwrap();
    assert_eq!(rule.into_outcome(), (vec![], None));
}

#[test]
fn a_broken_edit_of_the_prompt_is_a_complaint_and_changes_nothing() {
    let mut rule = AgentStart::new(event(json!({})), PromptOptions::default());
    let problem = rule
        .absorb(
            A,
            edited(json!({"systemPromptOptions": {"sections": {"A B": "x"}}})),
        )
        .unwrap_err();
    assert_eq!(problem, "Invalid system prompt section name: A B");
    assert_eq!(rule.into_outcome(), (vec![], None));
}

#[test]
fn context_takes_returned_and_edited_messages() {
    let user = |text: &str| json!({"role": "user", "content": text, "timestamp": 1});
    let mut rule = ContextMessages::new(event(json!({"messages": [user("1")]})));
    let both = json!([user("1"), user("2")]);
    rule.absorb(A, edited(json!({"messages": both}))).unwrap();
    assert_eq!(rule.event()["messages"], both);
    for malformed in [
        edited(json!({"messages": [7]})),
        returned(json!({"messages": [user("1"), null]})),
    ] {
        assert!(rule.absorb(B, malformed).is_err());
        assert_eq!(rule.event()["messages"], both);
    }
    rule.absorb(B, returned(json!({"messages": [user("3")]})))
        .unwrap();
    assert_eq!(rule.into_messages().unwrap()[0].text(), "3");
    let mut untouched = ContextMessages::new(event(json!({"messages": []})));
    untouched.absorb(A, DispatchAnswer::default()).unwrap();
    assert_eq!(untouched.revision(), 0);
    assert_eq!(untouched.into_messages(), None);
}

#[test]
fn payload_is_replaced_by_anything_but_undefined() {
    let mut rule = ProviderPayload::new(event(json!({"payload": {"a": 1}})));
    rule.absorb(A, DispatchAnswer::default()).unwrap();
    assert_eq!(rule.revision(), 0);
    rule.absorb(A, edited(json!({"payload": {"a": 2}})))
        .unwrap();
    assert_eq!(rule.event()["payload"], json!({"a": 2}));
    rule.absorb(A, returned(Value::Null)).unwrap();
    assert_eq!(rule.into_payload(), Some(Value::Null));
}

#[test]
fn null_deletes_a_header() {
    let mut rule = Headers::new(event(json!({"headers": {"a": "1", "b": "2"}})));
    rule.absorb(A, edited(json!({"headers": {"a": null, "b": "3"}})))
        .unwrap();
    for wrong in [json!({"c d": "x"}), json!({"c": 5}), json!({"c": "x\ny"})] {
        assert!(rule.absorb(B, edited(json!({"headers": wrong}))).is_err());
    }
    assert_eq!(rule.into_headers(), Some(event(json!({"b": "3"}))));
}

#[test]
fn message_end_keeps_the_role() {
    let mut rule = MessageEnd::new(event(json!({"message": {"role": "user"}})));
    assert!(
        rule.absorb(A, returned(json!({"message": {"role": "assistant"}})))
            .is_err()
    );
    rule.absorb(
        A,
        returned(json!({"message": {"role": "user", "content": "x"}})),
    )
    .unwrap();
    let malformed = json!({"message": {"role": "user", "content": [5]}});
    assert!(rule.absorb(B, returned(malformed)).is_err());
    assert_eq!(rule.into_message().unwrap().text(), "x");
}

#[test]
fn boundary_values_run_through_the_handlers() {
    let mut rule = Boundary::new(event(json!({"turnIndex": 0})), no_preview);
    rule.absorb(A, returned(json!({"entries": [{"type": "custom"}]})))
        .unwrap();
    assert_eq!(rule.event()["entries"], json!([{"type": "custom"}]));
    assert!(rule.absorb(B, returned(json!({"entries": 1}))).is_err());
    rule.absorb(B, returned(json!({"continue": true}))).unwrap();
    let wish = rule.into_outcome().unwrap();
    assert_eq!(wish.entries, [json!({"type": "custom"})]);
    assert!(wish.continue_run);
    assert_eq!(wish.from.as_deref(), Some("/a.ts"));
    let nothing = Boundary::new(Map::new(), no_preview);
    assert!(nothing.into_outcome().is_none());
}

#[test]
fn tool_call_edits_reach_the_next_handler_and_block_stops() {
    let mut rule = ToolCall::new(event(
        json!({"toolName": "bash", "input": {"command": "a"}}),
    ));
    rule.absorb(A, edited(json!({"input": {"command": "b"}})))
        .unwrap();
    assert_eq!(rule.event()["input"]["command"], "b");
    assert_eq!(
        rule.absorb(B, returned(json!({"block": true, "reason": "no"}))),
        Ok(Flow::Stop)
    );
    let (input, result) = rule.into_outcome();
    assert_eq!(input, Some(json!({"command": "b"})));
    assert_eq!(result.unwrap()["reason"], "no");
}

#[test]
fn tool_result_chain_counts_returns_and_mutations_but_not_lone_assignments() {
    let start = || {
        ToolResult::new(event(
            json!({"content": [{"type": "text", "text": "o"}], "details": {"a": 1}, "isError": false}),
        ))
    };
    // Returned members chain.
    let mut rule = start();
    rule.absorb(
        A,
        returned(json!({"content": [{"type": "text", "text": "A"}]})),
    )
    .unwrap();
    assert_eq!(rule.event()["content"][0]["text"], "A");
    rule.absorb(B, DispatchAnswer::default()).unwrap();
    rule.absorb(B, returned(json!({"isError": true}))).unwrap();
    let patch = rule.into_patch();
    assert_eq!(
        Value::Object(patch),
        json!({"content": [{"type": "text", "text": "A"}], "isError": true})
    );
    // A mutation alone counts.
    let mut rule = start();
    rule.absorb(A, edited(json!({"details": {"a": 2}})))
        .unwrap();
    assert_eq!(
        Value::Object(rule.into_patch()),
        json!({"details": {"a": 2}})
    );
    // An assignment alone is seen by the next handler but does not count.
    let mut rule = start();
    let mut answer = edited(json!({"content": []}));
    answer.assigned = vec!["content".into()];
    rule.absorb(A, answer).unwrap();
    assert_eq!(rule.event()["content"], json!([]));
    assert!(rule.into_patch().is_empty());
    // What cannot be read costs its own handler only.
    let mut rule = start();
    let good = json!({"content": [{"type": "text", "text": "A"}]});
    rule.absorb(A, returned(good.clone())).unwrap();
    let malformed = json!({"content": [{"type": "image"}], "isError": true});
    assert!(rule.absorb(B, returned(malformed)).is_err());
    assert!(rule.absorb(B, edited(json!({"content": [1]}))).is_err());
    assert_eq!(Value::Object(rule.into_patch()), good);
    // Together with a return it counts.
    let mut rule = start();
    let mut answer = edited(json!({"content": []}));
    answer.assigned = vec!["content".into()];
    answer.result = Some(json!({"details": null}));
    rule.absorb(A, answer).unwrap();
    assert_eq!(
        Value::Object(rule.into_patch()),
        json!({"content": [], "details": null})
    );
}

#[test]
fn resources_remember_who_gave_them() {
    let mut rule = Resources::new(Map::new());
    rule.absorb(A, returned(json!({"skillPaths": ["s"], "themePaths": "t"})))
        .unwrap_err();
    rule.absorb(B, returned(json!({"promptPaths": ["p"]})))
        .unwrap();
    let skill = &rule.found.skills[0];
    assert_eq!(
        (skill.extension.as_str(), skill.path.to_str()),
        ("/a.ts", Some("/s"))
    );
    assert_eq!(rule.found.prompts.len(), 1);
}

#[test]
fn the_context_after_drafts_is_shown_to_the_next_handler() {
    let preview = |drafts: &[Value]| (drafts.len() == 1).then(|| json!(["after"]));
    let mut rule = Boundary::new(event(json!({"context": ["before"]})), preview);
    rule.absorb(A, returned(json!({"continue": true}))).unwrap();
    assert_eq!(rule.event()["context"], json!(["before"]));
    rule.absorb(A, returned(json!({"entries": [1]}))).unwrap();
    assert_eq!(rule.event()["context"], json!(["after"]));
    // Drafts that are invalid change nothing that can be shown.
    rule.absorb(B, returned(json!({"entries": [1, 2]})))
        .unwrap();
    assert_eq!(rule.event()["context"], json!(["after"]));
}

#[test]
fn a_block_without_a_reason_is_told_in_the_words_of_the_family() {
    let blocked = |by: Answerer<'_>| {
        let mut rule = ToolCall::new(event(json!({"toolName": "x", "input": {}})));
        rule.absorb(by, returned(json!({"block": true}))).unwrap();
        rule.into_outcome().1.unwrap().get("reason").cloned()
    };
    assert_eq!(blocked(A), None);
    let xcsh = Answerer {
        profile: Profile::Xcsh,
        ..A
    };
    assert_eq!(
        blocked(xcsh),
        Some(json!("Tool execution was blocked by an extension"))
    );
}
