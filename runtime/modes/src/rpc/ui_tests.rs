//! Tests of the dialog proxy without an isolate: a pipe stands for the client.

use std::io::{BufRead, BufReader, PipeReader};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pier_protocol::ui::{SelectOption, UiCall, UiRequest, UiResponse};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::UiProxy;
use crate::dialect::Dialect;
use crate::output::OutputQueue;

struct Client {
    proxy: Arc<UiProxy>,
    lines: BufReader<PipeReader>,
    notices: Arc<Mutex<Vec<String>>>,
}

fn client(dialect: Dialect) -> Client {
    let (reader, writer) = std::io::pipe().expect("pipe");
    let notices = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&notices);
    let proxy = UiProxy::new(
        OutputQueue::start(writer).expect("thread"),
        dialect.rules(),
        move |notice| {
            sink.lock().push(notice.to_owned());
        },
    );
    Client {
        proxy,
        lines: BufReader::new(reader),
        notices,
    }
}

impl Client {
    fn open(&self, id: &str, call: UiCall) -> tokio::task::JoinHandle<UiResponse> {
        self.open_with(id, call, CancellationToken::new())
    }

    fn open_with(
        &self,
        id: &str,
        call: UiCall,
        cancel: CancellationToken,
    ) -> tokio::task::JoinHandle<UiResponse> {
        let proxy = Arc::clone(&self.proxy);
        let request = request(id, call);
        tokio::spawn(async move { proxy.dialog(request, cancel).await })
    }

    async fn next(&mut self) -> Value {
        tokio::task::block_in_place(|| {
            let mut text = String::new();
            self.lines.read_line(&mut text).expect("read");
            serde_json::from_str(&text).expect("a record")
        })
    }

    fn answer(&self, record: Value) {
        let Value::Object(record) = record else {
            panic!("an object")
        };
        self.proxy.answer(&record);
    }
}

fn request(id: &str, call: UiCall) -> UiRequest {
    UiRequest {
        id: id.into(),
        call,
        extension_path: "/ext.ts".into(),
    }
}

fn input(timeout: Option<u64>) -> UiCall {
    UiCall::Input {
        title: "Name?".into(),
        placeholder: None,
        timeout,
    }
}

fn confirm() -> UiCall {
    UiCall::Confirm {
        title: "Sure?".into(),
        message: "Really?".into(),
        timeout: None,
    }
}

const CANCELLED: UiResponse = UiResponse::Cancelled { timed_out: false };

async fn settled(task: tokio::task::JoinHandle<UiResponse>) -> UiResponse {
    tokio::time::timeout(Duration::from_secs(5), task)
        .await
        .expect("settles")
        .expect("no panic")
}

#[tokio::test(flavor = "multi_thread")]
async fn dialogs_are_answered_in_any_order() {
    let mut client = client(Dialect::Pi);
    let first = client.open("1", input(None));
    client.next().await;
    let second = client.open("2", confirm());
    let frame = client.next().await;
    assert_eq!(
        frame,
        json!({"type":"extension_ui_request","id":"2","method":"confirm","title":"Sure?","message":"Really?"})
    );
    client.answer(json!({"id":"2","confirmed":true}));
    assert_eq!(settled(second).await, UiResponse::Confirmed(true));
    client.answer(json!({"id":"1","value":"Bob"}));
    assert_eq!(settled(first).await, UiResponse::Value(json!("Bob")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_the_wrong_shape_is_the_cancel_value() {
    let mut client = client(Dialect::Pi);
    let dialog = client.open("1", confirm());
    client.next().await;
    client.answer(json!({"id":"1","value":"yes"}));
    assert_eq!(settled(dialog).await, CANCELLED);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_and_repeated_answers_are_noted_and_ignored() {
    let mut client = client(Dialect::Pi);
    let dialog = client.open("1", input(None));
    client.next().await;
    client.answer(json!({"id":"nope","value":"x"}));
    client.answer(json!({"id":"1","value":"x"}));
    client.answer(json!({"id":"1","value":"again"}));
    assert_eq!(settled(dialog).await, UiResponse::Value(json!("x")));
    assert_eq!(client.notices.lock().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn time_limit_signal_and_cancel_all_end_a_dialog() {
    let mut client = client(Dialect::Xcsh);
    let timed = client.open("t", input(Some(20)));
    client.next().await;
    assert_eq!(
        settled(timed).await,
        UiResponse::Cancelled { timed_out: true }
    );
    assert_eq!(client.next().await["targetId"], "t");

    let token = CancellationToken::new();
    let signalled = client.open_with("s", input(None), token.clone());
    client.next().await;
    token.cancel();
    assert_eq!(settled(signalled).await, CANCELLED);
    assert_eq!(client.next().await["targetId"], "s");

    let aborted = client.open("a", confirm());
    client.next().await;
    client.proxy.cancel_all();
    assert_eq!(settled(aborted).await, CANCELLED);
    assert_eq!(client.next().await["targetId"], "a");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_frame_is_written_for_a_dialog_that_cannot_start() {
    let mut client = client(Dialect::Pi);
    let token = CancellationToken::new();
    token.cancel();
    assert_eq!(
        settled(client.open_with("1", input(None), token)).await,
        CANCELLED
    );
    let refusal = client.proxy.refuse();
    assert_eq!(settled(client.open("2", input(None))).await, CANCELLED);
    drop(refusal);
    client
        .proxy
        .frame(request("3", UiCall::SetTitle { title: "t".into() }))
        .expect("open");
    assert_eq!(client.next().await["id"], "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_take_the_form_that_clients_know() {
    let mut client = client(Dialect::Pi);
    client
        .proxy
        .frame(request(
            "1",
            UiCall::PasteToEditor {
                text: "p\u{2028}q".into(),
            },
        ))
        .expect("open");
    assert_eq!(
        client.next().await,
        json!({"type":"extension_ui_request","id":"1","method":"set_editor_text","text":"p\u{2028}q"})
    );
    let options = vec![
        SelectOption::Text("a".into()),
        SelectOption::Described {
            label: "b".into(),
            description: Some("long".into()),
        },
    ];
    let select = UiCall::Select {
        title: "Pick".into(),
        options,
        timeout: None,
        initial_index: None,
        help_text: None,
    };
    let dialog = client.open("2", select);
    assert_eq!(client.next().await["options"], json!(["a", "b"]));
    client.answer(json!({"id":"2","value":"not in list"}));
    assert_eq!(
        settled(dialog).await,
        UiResponse::Value(json!("not in list"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_extension_leaves_no_dialog_behind() {
    let mut client = client(Dialect::Pi);
    let dialog = client.open("1", input(None));
    client.next().await;
    dialog.abort();
    assert!(dialog.await.is_err());
    client.answer(json!({"id":"1","value":"late"}));
    assert_eq!(client.notices.lock().len(), 1);
}
