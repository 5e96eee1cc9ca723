//! Tests of commands against a real session with the scripted provider, and no isolate.

use std::io::{BufRead, BufReader, PipeReader};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use pier_agent::agent_session::AgentConfig;
use pier_agent::hooks::{ExtensionHooks, HookEvent, SessionStartReason};
use pier_agent::host::HostActions;
use pier_agent::prompt::PromptConfig;
use pier_agent::provider::ProviderRegistry;
use pier_agent::provider::scripted::ScriptedProvider;
use pier_agent::session::{NewSession, SessionDirs, SessionManager, SessionOptions};
use pier_agent::settings::SettingsStore;
use pier_agent::tool::{ToolFilter, ToolRegistry};
use pier_agent::{AgentSession, events::Subscription};
use pier_protocol::extension::{ExtensionErrorReport, SourceLocation};
use serde_json::{Value, json};

use super::Server;
use crate::dialect::Dialect;
use crate::events::EventWriter;
use crate::extensions::NoExtensions;
use crate::host::ModeHost;
use crate::output::OutputQueue;
use crate::rpc::framing::Frame;
use crate::rpc::gate::Gate;
use crate::rpc::record::{Incoming, parse};
use crate::rpc::requests::Requests;
use crate::rpc::screen::Screen;
use crate::rpc::{errors, host_tools::HostTools, ui::UiProxy};

struct Bench {
    server: Arc<Server>,
    lines: BufReader<PipeReader>,
    _subscription: Subscription,
    _dir: tempfile::TempDir,
}

/// One command, `/fail`, that reports a failure like the bridge does.
struct OneCommand(Arc<ModeHost>);

#[async_trait]
impl ExtensionHooks for OneCommand {
    fn subscribed(&self, _event: HookEvent) -> bool {
        false
    }
    fn is_command(&self, name: &str) -> bool {
        name == "fail" || name == "fine"
    }
    async fn run_command(&self, name: &str, _args: &str) -> Option<()> {
        if name == "fail" {
            let mut report = ExtensionErrorReport::new("command:fail", "command", "on purpose");
            report.location = Some(SourceLocation {
                file: "/x.ts".into(),
                line: 4,
                column: 2,
            });
            self.0.report_error(report);
        }
        Some(())
    }
}

async fn bench(dialect: Dialect) -> Bench {
    let (reader, writer) = std::io::pipe().expect("pipe");
    let output = OutputQueue::start(writer).expect("thread");
    let rules = dialect.rules();
    let requests = Requests::new();
    let ui = UiProxy::new(output.clone(), rules, |_| {});
    let host = {
        let (output, requests) = (output.clone(), Arc::clone(&requests));
        ModeHost::new(
            move |report| {
                let id = requests.attribute(&report);
                for line in errors::lines(rules, &report, None, id.as_ref()) {
                    output.push(line).expect("open");
                }
            },
            || Box::new(()),
        )
    };
    let dir = tempfile::tempdir().expect("dir");
    let providers = Arc::new(ProviderRegistry::new());
    ScriptedProvider::new().register(&providers);
    let options = SessionOptions::new(SessionDirs::new(dir.path(), dir.path().join("agent")));
    let session = AgentSession::new(AgentConfig {
        session: SessionManager::in_memory(&options, NewSession::default()).expect("session"),
        settings: Arc::new(SettingsStore::in_memory(serde_json::Map::new())),
        providers,
        tools: Arc::new(ToolRegistry::new(ToolFilter::default())),
        hooks: Arc::new(OneCommand(Arc::clone(&host))),
        host,
        prompt: PromptConfig::default(),
        model: None,
        thinking_level: None,
        scoped_models: Vec::new(),
    });
    let events = EventWriter::new(output.clone(), rules);
    let subscription = session.subscribe(events.clone());
    session.start(SessionStartReason::Startup).await;
    let gate = Gate::new();
    gate.start();
    let server = Arc::new(Server {
        screen: Screen::new(output.clone()),
        gate,
        session,
        extensions: Arc::new(NoExtensions),
        host_tools: HostTools::new(output.clone()),
        output,
        rules,
        events,
        ui,
        requests,
        client: Mutex::default(),
        replacing_prompt: tokio::sync::Mutex::default(),
    });
    Bench {
        server,
        lines: BufReader::new(reader),
        _subscription: subscription,
        _dir: dir,
    }
}

impl Bench {
    async fn send(&self, record: Value) {
        let Ok(Incoming::Command(request)) = parse(Frame::Line(record.to_string().into_bytes()))
        else {
            panic!("not a command: {record}")
        };
        self.server.submit(request).await;
    }

    fn next(&mut self) -> Value {
        tokio::task::block_in_place(|| {
            let mut text = String::new();
            self.lines.read_line(&mut text).expect("read");
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
        })
    }

    fn until(&mut self, done: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut records = Vec::new();
        loop {
            let record = self.next();
            let last = done(&record);
            records.push(record);
            if last {
                return records;
            }
        }
    }

    async fn ask(&mut self, record: Value) -> Value {
        self.send(record).await;
        let mut records = self.until(|record| record["type"] == "response");
        records.pop().expect("a response")
    }
}

fn settled(record: &Value) -> bool {
    record["type"] == "agent_settled"
}

fn types(records: &[Value]) -> Vec<&str> {
    records
        .iter()
        .map(|record| record["type"].as_str().unwrap_or_default())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_response_of_a_prompt_precedes_its_run() {
    let mut bench = bench(Dialect::Pi).await;
    for round in 0..20 {
        bench
            .send(json!({"id": round, "type": "prompt", "message": "hi"}))
            .await;
        let records = bench.until(settled);
        assert_eq!(
            records[0]["data"]["disposition"],
            "started",
            "{:?}",
            types(&records)
        );
        assert_eq!(&types(&records)[1..3], ["agent_start", "turn_start"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_prompts_at_once_none_is_lost() {
    let mut bench = bench(Dialect::Pi).await;
    bench
        .send(json!({"id": "a", "type": "prompt", "message": "@delay 20\n@text one"}))
        .await;
    bench
        .send(json!({"id": "b", "type": "prompt", "message": "two"}))
        .await;
    bench.send(json!({"id": "c", "type": "prompt", "message": "three", "streamingBehavior": "followUp"})).await;
    let records = bench.until(settled);
    let response = |id: &str| {
        records
            .iter()
            .find(|record| record["id"] == id)
            .expect("answered")
            .clone()
    };
    assert_eq!(response("a")["data"]["disposition"], "started");
    assert_eq!(response("b")["success"], false);
    assert_eq!(response("c")["data"]["disposition"], "queued");
    let texts: Vec<_> = records
        .iter()
        .filter(|record| record["type"] == "message_end" && record["message"]["role"] == "user")
        .map(|record| {
            record["message"]["content"][0]["text"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    assert_eq!(texts, ["@delay 20\n@text one", "three"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_command_fails_its_prompt_with_place_and_id() {
    let mut bench = bench(Dialect::Pi).await;
    bench
        .send(json!({"id": "f", "type": "prompt", "message": "/fail now"}))
        .await;
    let error = bench.next();
    assert_eq!(
        (&error["type"], &error["requestId"]),
        (&json!("extension_error"), &json!("f"))
    );
    let response = bench.next();
    assert_eq!(response["success"], false);
    assert_eq!(response["error"], "on purpose (/x.ts:4:2)");
    assert_eq!(response["data"]["disposition"], "handled");
    let fine = bench
        .ask(json!({"id": "g", "type": "prompt", "message": "/fine"}))
        .await;
    assert_eq!(
        (&fine["success"], &fine["data"]["disposition"]),
        (&json!(true), &json!("handled"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn state_has_the_members_that_clients_read() {
    let mut bench = bench(Dialect::Pi).await;
    let state = bench.ask(json!({"id": 1, "type": "get_state"})).await["data"].clone();
    for member in [
        "model",
        "thinkingLevel",
        "isStreaming",
        "isCompacting",
        "steeringMode",
        "followUpMode",
        "interruptMode",
        "sessionId",
        "autoCompactionEnabled",
        "messageCount",
        "pendingMessageCount",
        "queuedMessageCount",
    ] {
        assert!(state.get(member).is_some(), "{member} is missing: {state}");
    }
    assert!(state.get("sessionFile").is_none() && state.get("todoPhases").is_none());
    assert_eq!(state["model"]["provider"], "scripted");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_change_what_state_says_and_wrong_words_do_not() {
    let mut bench = bench(Dialect::Pi).await;
    assert_eq!(
        bench
            .ask(json!({"type": "set_steering_mode", "mode": "all"}))
            .await["success"],
        true
    );
    assert_eq!(
        bench
            .ask(json!({"type": "set_follow_up_mode", "mode": "none"}))
            .await["success"],
        false
    );
    assert_eq!(
        bench
            .ask(json!({"type": "set_auto_compaction", "enabled": false}))
            .await["success"],
        true
    );
    let state = bench.ask(json!({"type": "get_state"})).await["data"].clone();
    assert_eq!(
        (&state["steeringMode"], &state["followUpMode"]),
        (&json!("all"), &json!("one-at-a-time"))
    );
    assert_eq!(state["autoCompactionEnabled"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_run_beside_each_other_and_an_active_id_is_refused() {
    let mut bench = bench(Dialect::Pi).await;
    bench
        .send(json!({"id": "long", "type": "bash", "command": "echo started; sleep 60"}))
        .await;
    bench.until(|record| record["type"] == "bash_execution_update");
    let twin = bench.ask(json!({"id": "long", "type": "get_state"})).await;
    assert_eq!(
        (&twin["id"], &twin["success"]),
        (&json!("long"), &json!(false))
    );
    assert_eq!(
        bench.ask(json!({"id": "q", "type": "get_state"})).await["success"],
        true
    );
    bench
        .send(json!({"id": "stop", "type": "abort_bash"}))
        .await;
    let records = bench.until(|record| record["id"] == "long" && record["type"] == "response");
    assert_eq!(records.last().expect("a record")["data"]["cancelled"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn xcsh_prompts_are_acknowledged_at_once_and_fail_later() {
    let mut bench = bench(Dialect::Xcsh).await;
    bench
        .send(json!({"id": "a", "type": "prompt", "message": "@delay 50\n@text slow"}))
        .await;
    let first = bench.next();
    assert_eq!((&first["success"], first.get("data")), (&json!(true), None));
    bench
        .send(json!({"id": "b", "type": "prompt", "message": "again"}))
        .await;
    let records = bench.until(settled);
    let answers: Vec<_> = records
        .iter()
        .filter(|record| record["id"] == "b")
        .map(|record| record["success"].clone())
        .collect();
    assert_eq!(answers, [json!(true), json!(false)]);
    assert!(
        records.iter().all(|record| record["id"] != "a"),
        "one response only"
    );
    assert!(
        records
            .iter()
            .all(|record| record["message"]["role"] != "system")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn abort_answers_after_the_run_has_settled() {
    let mut bench = bench(Dialect::Pi).await;
    bench
        .send(json!({"id": "p", "type": "prompt", "message": "@delay 50\n@text a very long text"}))
        .await;
    bench.until(|record| record["type"] == "message_update");
    bench.send(json!({"id": "x", "type": "abort"})).await;
    let records = bench.until(|record| record["id"] == "x");
    assert!(
        records
            .iter()
            .any(|record| record["type"] == "agent_settled" && record["aborted"] == true)
    );
    assert_eq!(
        bench.ask(json!({"type": "get_state"})).await["data"]["isStreaming"],
        false
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_clients_store_comes_back() {
    let mut bench = bench(Dialect::Xcsh).await;
    let phases = json!([{"id": "1", "name": "n", "tasks": []}]);
    let stored = bench
        .ask(json!({"type": "set_todos", "phases": phases}))
        .await;
    assert_eq!(stored["data"]["todoPhases"], phases);
    assert_eq!(
        bench.ask(json!({"type": "get_state"})).await["data"]["todoPhases"],
        phases
    );
    assert_eq!(
        bench.ask(json!({"type": "set_todos", "phases": [1]})).await["success"],
        false
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_trees_and_texts_are_read_from_the_session() {
    let mut bench = bench(Dialect::Pi).await;
    assert_eq!(
        bench.ask(json!({"type": "get_last_assistant_text"})).await["data"],
        json!({})
    );
    bench
        .send(json!({"type": "prompt", "message": "hello"}))
        .await;
    bench.until(settled);
    assert_eq!(
        bench.ask(json!({"type": "get_last_assistant_text"})).await["data"]["text"],
        "echo: hello"
    );
    let entries = bench.ask(json!({"type": "get_entries"})).await["data"].clone();
    let last = entries["entries"]
        .as_array()
        .and_then(|entries| entries.last())
        .expect("entries")
        .clone();
    assert_eq!(entries["leafId"], last["id"]);
    let none = bench
        .ask(json!({"type": "get_entries", "since": last["id"]}))
        .await["data"]
        .clone();
    assert_eq!(none["entries"], json!([]));
    let unknown = bench
        .ask(json!({"type": "get_entries", "since": "zzz"}))
        .await;
    assert_eq!(unknown["error"], "Entry not found: zzz");
    assert!(bench.ask(json!({"type": "get_tree"})).await["data"]["tree"].is_array());
    let forks = bench.ask(json!({"type": "get_fork_messages"})).await["data"].clone();
    assert_eq!(forks["messages"][0]["text"], "hello");
    let export = bench.ask(json!({"type": "export_html"})).await;
    assert_eq!(export["error"], "Cannot export in-memory session to HTML");
}
