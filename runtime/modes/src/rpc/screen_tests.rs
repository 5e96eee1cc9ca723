//! Tests of components over the wire: a pipe stands for the client, a map for the isolate.

use std::io::{BufRead, BufReader, PipeReader};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use pier_agent::hooks::{SessionStartReason, ShutdownReason};
use pier_protocol::ui::{ComponentHandle, UiCall, UiRequest, UiResponse};
use serde_json::{Value, json};

use super::Screen;
use crate::dialect::Dialect;
use crate::extensions::{Extensions, SlashCommand};
use crate::output::OutputQueue;
use crate::rpc::ui::UiProxy;

/// One component that shows its lines and what was typed.
struct Isolate {
    lines: Mutex<Vec<String>>,
}

#[async_trait]
impl Extensions for Isolate {
    fn commands(&self) -> Vec<SlashCommand> {
        Vec::new()
    }
    async fn component(&self, _: &ComponentHandle, op: &str, members: Value) -> Option<Value> {
        match op {
            "render" => Some(json!({ "lines": *self.lines.lock() })),
            _ => {
                self.lines
                    .lock()
                    .push(members["data"].as_str().unwrap_or_default().to_owned());
                None
            }
        }
    }
    async fn reload(&self, _: ShutdownReason, _: SessionStartReason) -> Result<(), String> {
        Ok(())
    }
    async fn dispose(&self) {}
}

struct Bench {
    screen: Arc<Screen>,
    proxy: Arc<UiProxy>,
    isolate: Arc<Isolate>,
    client: BufReader<PipeReader>,
}

fn bench(lines: &[&str]) -> Bench {
    let (reader, writer) = std::io::pipe().expect("pipe");
    let output = OutputQueue::start(writer).expect("thread");
    let screen = Screen::new(output.clone());
    let isolate = Arc::new(Isolate {
        lines: Mutex::new(lines.iter().map(|line| (*line).to_owned()).collect()),
    });
    screen.attach(isolate.clone());
    let proxy = UiProxy::new(output, Dialect::Pi.rules(), |_| {});
    Bench {
        screen,
        proxy,
        isolate,
        client: BufReader::new(reader),
    }
}

impl Bench {
    fn next(&mut self) -> Value {
        tokio::task::block_in_place(|| {
            let mut text = String::new();
            self.client.read_line(&mut text).expect("read");
            serde_json::from_str(&text).expect("a record")
        })
    }

    fn open(&self) -> tokio::task::JoinHandle<UiResponse> {
        let (screen, proxy) = (Arc::clone(&self.screen), Arc::clone(&self.proxy));
        tokio::spawn(async move { screen.custom(&proxy, request("c", custom())).await })
    }

    fn input(&self, record: Value) {
        self.screen.input(record.as_object().expect("an object"));
    }
}

fn component() -> ComponentHandle {
    ComponentHandle { ext: 1, handle: 2 }
}

fn custom() -> UiCall {
    UiCall::Custom {
        component: component(),
        overlay: true,
        options: Value::Null,
    }
}

fn request(id: &str, call: UiCall) -> UiRequest {
    UiRequest {
        id: id.into(),
        call,
        extension_path: "/x.ts".into(),
    }
}

const CANCELLED: UiResponse = UiResponse::Cancelled { timed_out: false };

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_component_is_drawn_takes_keys_and_is_closed() {
    let mut bench = bench(&["hello"]);
    let open = bench.open();
    let first = bench.next();
    assert_eq!(
        (&first["method"], &first["id"], &first["lines"]),
        (&json!("custom"), &json!("c"), &json!(["hello"]))
    );
    bench.input(json!({"type": "extension_ui_input", "id": "c", "data": "x"}));
    // The isolate says that it changed once it has taken the key.
    tokio::time::timeout(Duration::from_secs(5), async {
        while bench.isolate.lines.lock().len() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the key arrived");
    assert!(
        bench
            .screen
            .show(request(
                "i",
                UiCall::Invalidate {
                    component: component()
                }
            ))
            .is_none()
    );
    let frame = bench.next();
    assert_eq!(
        (&frame["method"], &frame["targetId"], &frame["lines"]),
        (&json!("frame"), &json!("c"), &json!(["hello", "x"]))
    );
    bench.proxy.answer(
        json!({"id": "c", "cancelled": true})
            .as_object()
            .expect("an object"),
    );
    assert_eq!(open.await.expect("no panic"), CANCELLED);
    assert_eq!(bench.next()["method"], "close");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_is_done_is_closed_for_the_client() {
    let mut bench = bench(&["hello"]);
    let open = bench.open();
    bench.next();
    open.abort();
    let close = bench.next();
    assert_eq!(
        (&close["method"], &close["targetId"]),
        (&json!("close"), &json!("c"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_without_lines_is_not_shown() {
    let bench = bench(&[]);
    assert_eq!(bench.open().await.expect("no panic"), CANCELLED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_know_components_does_not_hold_the_extension() {
    let bench = bench(&["hello"]);
    assert_eq!(bench.open().await.expect("no panic"), CANCELLED);
}

#[tokio::test(flavor = "multi_thread")]
async fn widgets_are_lines_and_edges_are_cleared_only_when_shown() {
    let mut bench = bench(&["w"]);
    let widget = |component| UiCall::SetWidget {
        widget_key: "k".into(),
        widget_lines: None,
        widget_placement: None,
        component,
    };
    assert!(
        bench
            .screen
            .show(request("1", widget(Some(component()))))
            .is_none()
    );
    let frame = bench.next();
    assert_eq!(
        (&frame["method"], &frame["widgetKey"], &frame["widgetLines"]),
        (&json!("setWidget"), &json!("k"), &json!(["w"]))
    );
    assert!(
        bench.screen.show(request("2", widget(None))).is_some(),
        "clearing is the client's as before"
    );
    assert!(
        bench
            .screen
            .show(request("3", UiCall::SetFooter { component: None }))
            .is_none()
    );
    assert!(
        bench
            .screen
            .show(request(
                "4",
                UiCall::SetFooter {
                    component: Some(component())
                }
            ))
            .is_none()
    );
    assert_eq!(bench.next()["method"], "setFooter");
    bench
        .screen
        .show(request("5", UiCall::SetFooter { component: None }));
    let cleared = bench.next();
    assert_eq!(
        (&cleared["method"], cleared.get("lines")),
        (&json!("setFooter"), None)
    );
}
