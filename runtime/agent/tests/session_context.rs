//! What the model sees of a branch (spec/sessions.md §4).

mod session_support;

use pier_agent::session::SessionManager;
use serde_json::json;
use session_support::*;

fn system(text: &str) -> std::sync::Arc<pier_protocol::message::Message> {
    message(json!({"role":"system","content":text,"timestamp":1}))
}

fn compact(session: &SessionManager, first_kept: Option<&str>, with_system: bool) -> String {
    let mut body = json!({"summary":"sum","tokensBefore":5});
    if let Some(id) = first_kept {
        body["firstKeptEntryId"] = json!(id);
    }
    if with_system {
        body["systemMessage"] = json!({"role":"system","content":"replayed","timestamp":9});
    }
    session
        .append_compaction(serde_json::from_value(body).unwrap())
        .unwrap()
        .id()
        .to_owned()
}

#[test]
fn an_empty_session_has_an_empty_context() {
    let session = Project::new().create();
    let built = session.context();
    assert!(built.messages.is_empty() && built.entries.is_empty() && built.model.is_none());
    assert_eq!(built.thinking_level, "off");
    assert!(!built.has_thinking_entry);
}

#[test]
fn a_compaction_keeps_what_it_says_and_drops_older_prompts() {
    let session = Project::new().create();
    session.append_message(system("old")).unwrap();
    session.append_message(user("a")).unwrap();
    let kept = session.append_message(assistant("b")).unwrap();
    session.append_message(system("mid")).unwrap();
    session.append_message(user("c")).unwrap();
    let first = compact(&session, Some(kept.id()), true);
    session.append_message(system("new")).unwrap();
    session.append_message(user("d")).unwrap();
    assert_eq!(
        context(&session),
        [
            "system:replayed",
            "compactionSummary:sum",
            "assistant:b",
            "user:c",
            "system:new",
            "user:d"
        ]
    );
    let built = session.context();
    assert_eq!(&*built.messages[0].entry_id, first);
    assert_eq!(&*built.messages[1].entry_id, first);
    // The second compaction keeps the first one's entry, which then says nothing.
    compact(&session, Some(kept.id()), false);
    assert_eq!(
        context(&session),
        ["compactionSummary:sum", "assistant:b", "user:c", "user:d"]
    );
}

#[test]
fn a_first_kept_entry_that_is_not_before_keeps_nothing() {
    for first_kept in [None, Some("unknown"), Some("own")] {
        let session = Project::new().create();
        session.append_message(user("a")).unwrap();
        let id = compact(&session, first_kept.filter(|id| *id != "own"), false);
        session.append_message(user("b")).unwrap();
        assert_eq!(
            context(&session),
            ["compactionSummary:sum", "user:b"],
            "{first_kept:?}"
        );
        // An id behind the compaction does not count either.
        let later = session.append_message(user("c")).unwrap();
        session.branch(&id).unwrap();
        compact(&session, Some(later.id()), false);
        assert_eq!(context(&session), ["compactionSummary:sum"]);
    }
}

#[test]
fn a_compaction_may_name_itself() {
    let project = Project::new();
    let compaction = r#"{"type":"compaction","id":"c","parentId":"a","timestamp":"t","summary":"s","firstKeptEntryId":"c","tokensBefore":1}"#;
    let path = project.file(
        "own.jsonl",
        file_of(&[user_line("a", None, "x"), compaction.to_owned()]),
    );
    assert_eq!(context(&project.open(&path)), ["compactionSummary:s"]);
}

#[test]
fn the_last_edit_of_each_target_counts() {
    let session = Project::new().create();
    let question = session.append_message(user("question")).unwrap();
    let answer = session.append_message(assistant("answer")).unwrap();
    let note = session
        .append_message(message(
            json!({"role":"custom","customType":"n","content":"note","display":true,"timestamp":1}),
        ))
        .unwrap();
    session.append_context_edit(answer.id(), None).unwrap();
    session
        .append_context_edit_json(question.id(), &json!({"content":"one"}))
        .unwrap();
    session
        .append_context_edit_json(
            question.id(),
            &json!({"content":[{"type":"text","text":"two"}]}),
        )
        .unwrap();
    session
        .append_context_edit_json(note.id(), &json!({"content":"noted"}))
        .unwrap();
    assert_eq!(context(&session), ["user:two", "custom:noted"]);
    let built = session.context();
    assert!(built.messages.iter().all(|part| part.edited));
    // Whatever else the message carries stays.
    assert_eq!(built.messages[0].message.timestamp(), 1_000);
    // On a branch without the edits the originals are back.
    session.branch(note.id()).unwrap();
    assert_eq!(
        context(&session),
        ["user:question", "assistant:answer", "custom:note"]
    );
    // An edit after a compaction reaches what the compaction kept; one before the kept part does not.
    session.append_context_edit(question.id(), None).unwrap();
    let third = session.append_message(user("third")).unwrap();
    compact(&session, Some(third.id()), false);
    session
        .append_context_edit_json(third.id(), &json!({"content":"3rd"}))
        .unwrap();
    assert_eq!(context(&session), ["compactionSummary:sum", "user:3rd"]);
}

#[test]
fn model_and_level_come_from_the_branch() {
    let session = Project::new().create();
    session.append_model_change("p0", "m0").unwrap();
    session.append_thinking_level_change("low").unwrap();
    let question = session.append_message(user("q")).unwrap();
    session.append_message(assistant("a")).unwrap();
    session.append_thinking_level_change("high").unwrap();
    let built = session.context();
    assert_eq!(built.model.as_ref().unwrap().provider, "p");
    assert_eq!(built.thinking_level, "high");
    session.branch(question.id()).unwrap();
    let built = session.context();
    assert_eq!(built.model.as_ref().unwrap().provider, "p0");
    assert_eq!(built.thinking_level, "low");
    assert_eq!(session.build_context_at(None).thinking_level, "off");
}

#[test]
fn summaries_and_state_project_as_the_rules_say() {
    let session = Project::new().create();
    session.append_message(user("q")).unwrap();
    session
        .append_custom("state", Some(json!({"a":1})))
        .unwrap();
    session.append_session_info("name").unwrap();
    session
        .append_branch_summary(serde_json::from_value(json!({"fromId":"x","summary":""})).unwrap())
        .unwrap();
    let summary = session
        .append_branch_summary(
            serde_json::from_value(json!({"fromId":"x","summary":"there"})).unwrap(),
        )
        .unwrap();
    session
        .append_message(message(json!({"role":"bashExecution","command":"ls","output":"out","cancelled":false,"truncated":false,"timestamp":1})))
        .unwrap();
    assert_eq!(
        context(&session),
        ["user:q", "branchSummary:there", "bashExecution:out"]
    );
    let built = session.context();
    assert_eq!(
        built.messages[1].message.timestamp(),
        summary.timestamp_millis()
    );
    assert!(summary.timestamp_millis() > 1_700_000_000_000);
    assert_eq!(built.entries.len(), 6);
}

#[test]
fn null_content_is_normalised_when_read() {
    let project = Project::new();
    let line = |id: &str, message: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"t","message":{message}}}"#
        )
    };
    for (role, rest) in [
        ("user", ""),
        ("assistant", ""),
        (
            "toolResult",
            r#","toolCallId":"1","toolName":"t","isError":false"#,
        ),
        ("system", ""),
        ("custom", r#","customType":"c""#),
    ] {
        let text = format!(r#"{{"role":"{role}","content":null,"timestamp":1{rest}}}"#);
        let path = project.file("null.jsonl", file_of(&[line("a", &text)]));
        let session = project.open(&path);
        assert_eq!(context(&session), [format!("{role}:")]);
        let message = serde_json::to_value(&session.context().messages[0].message).unwrap();
        let expected = if role == "system" {
            json!("")
        } else {
            json!([])
        };
        assert_eq!(message["content"], expected, "{role}");
        session.close();
    }
}

#[test]
fn images_in_a_blob_store_are_fetched_for_the_model_only() {
    let project = Project::new();
    let blobs = project.temp.path().join("agent/blobs");
    std::fs::create_dir_all(&blobs).unwrap();
    let (known, unknown) = ("ab".repeat(32), "cd".repeat(32));
    std::fs::write(blobs.join(&known), b"image bytes").unwrap();
    // Outside the store, and not named by a hash.
    std::fs::write(project.temp.path().join("agent/secret"), b"secret").unwrap();
    let session = project.create();
    let image = |data: String| json!({"type":"image","data":data,"mimeType":"image/png"});
    let entry = session
        .append_message(message(json!({"role":"user","timestamp":1,"content":[
            {"type":"text","text":"see blob:sha256:x"},
            image(format!("blob:sha256:{known}")),
            image(format!("blob:sha256:{unknown}")),
            image("blob:sha256:../secret".to_owned()),
            image("aGk=".to_owned()),
        ]})))
        .unwrap();
    let built = session.context();
    let content = serde_json::to_value(&built.messages[0].message).unwrap()["content"].clone();
    assert_eq!(content[0]["text"], "see blob:sha256:x");
    assert_eq!(content[1], image("aW1hZ2UgYnl0ZXM=".to_owned()));
    assert_eq!(
        content[2]["text"],
        format!("[Image not available: blob:sha256:{unknown}]")
    );
    assert_eq!(
        content[3]["text"],
        "[Image not available: blob:sha256:../secret]"
    );
    assert_eq!(content[4], image("aGk=".to_owned()));
    assert!(entry.json().contains(&format!("blob:sha256:{known}")));
}
