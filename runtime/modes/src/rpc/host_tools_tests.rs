//! Tests of client-run tools: a pipe stands for the client.

use std::io::{BufRead, BufReader, PipeReader};
use std::sync::Arc;

use pier_agent::tool::{
    Tool, ToolCall, ToolContext, ToolError, ToolFilter, ToolOutput, ToolRegistry, ToolUpdates,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::HostTools;
use crate::output::OutputQueue;

fn connected() -> (Arc<HostTools>, ToolRegistry, BufReader<PipeReader>) {
    let (reader, writer) = std::io::pipe().expect("pipe");
    let host = HostTools::new(OutputQueue::start(writer).expect("thread"));
    let registry = ToolRegistry::new(ToolFilter::default());
    let tools = [json!({"name": " ask ", "description": "Asks", "parameters": {"type": "object"}})];
    assert_eq!(host.replace(&registry, &tools).expect("valid"), ["ask"]);
    (host, registry, BufReader::new(reader))
}

fn call(
    tool: Arc<dyn Tool>,
    cancel: CancellationToken,
) -> tokio::task::JoinHandle<Result<ToolOutput, ToolError>> {
    tokio::spawn(async move {
        tool.execute(ToolCall {
            id: "call_1".into(),
            args: json!({"q": 1}),
            cancel,
            updates: ToolUpdates::new(),
            context: ToolContext::detached("/".into()),
        })
        .await
    })
}

fn next(lines: &mut BufReader<PipeReader>) -> Value {
    tokio::task::block_in_place(|| {
        let mut text = String::new();
        lines.read_line(&mut text).expect("read");
        serde_json::from_str(&text).expect("a record")
    })
}

fn answer(host: &HostTools, record: Value) {
    host.answer(record.as_object().expect("an object"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_goes_out_and_its_result_comes_back() {
    let (host, registry, mut lines) = connected();
    let running = call(
        registry.get("ask").expect("registered"),
        CancellationToken::new(),
    );
    let request = next(&mut lines);
    assert_eq!(request["type"], "host_tool_call");
    assert_eq!(
        (&request["toolName"], &request["arguments"]),
        (&json!("ask"), &json!({"q": 1}))
    );
    answer(
        &host,
        json!({"type": "host_tool_result", "id": "other", "result": {"content": []}}),
    );
    answer(
        &host,
        json!({"type": "host_tool_result", "id": request["id"],
        "result": {"content": [{"type": "text", "text": "yes"}]}}),
    );
    let output = running.await.expect("no panic").expect("a result");
    assert_eq!(pier_protocol::block::joined_text(&output.content), "yes");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_result_an_abort_and_a_disconnect_fail_the_call() {
    let (host, registry, mut lines) = connected();
    let tool = registry.get("ask").expect("registered");

    let running = call(Arc::clone(&tool), CancellationToken::new());
    let id = next(&mut lines)["id"].clone();
    answer(
        &host,
        json!({"type": "host_tool_result", "id": id, "isError": true,
        "result": {"content": [{"type": "text", "text": "broken"}]}}),
    );
    assert_eq!(
        running
            .await
            .expect("no panic")
            .expect_err("fails")
            .to_string(),
        "broken"
    );

    let token = CancellationToken::new();
    let running = call(Arc::clone(&tool), token.clone());
    let id = next(&mut lines)["id"].clone();
    token.cancel();
    assert_eq!(
        running
            .await
            .expect("no panic")
            .expect_err("fails")
            .to_string(),
        "Host tool \"ask\" was aborted"
    );
    let notice = next(&mut lines);
    assert_eq!(
        (&notice["type"], &notice["targetId"]),
        (&json!("host_tool_cancel"), &id)
    );

    let running = call(tool, CancellationToken::new());
    next(&mut lines);
    host.close();
    assert!(
        running
            .await
            .expect("no panic")
            .expect_err("fails")
            .to_string()
            .contains("disconnected")
    );
}

#[test]
fn a_tool_that_lacks_something_is_named_and_the_old_set_stays() {
    let output = OutputQueue::start(std::io::sink()).expect("thread");
    let host = HostTools::new(output);
    let registry = ToolRegistry::new(ToolFilter::default());
    let good = json!({"name": "a", "description": "d", "parameters": {}});
    host.replace(&registry, std::slice::from_ref(&good))
        .expect("valid");
    let cases = [
        (
            json!({"description": "d"}),
            "Host tool at index 1 must provide a non-empty name",
        ),
        (
            json!({"name": "n", "description": " "}),
            "Host tool \"n\" must provide a non-empty description",
        ),
        (
            json!({"name": "n", "description": "d"}),
            "Host tool \"n\" must provide a JSON Schema object",
        ),
    ];
    for (bad, complaint) in cases {
        assert_eq!(
            host.replace(&registry, &[good.clone(), bad]),
            Err(complaint.into())
        );
        assert!(registry.get("a").is_some());
    }
}
