//! Target `ui-answer`: lines that a client sends while dialogs of every kind are open.

use std::cell::OnceCell;
use std::sync::Arc;

use futures::stream::{FuturesUnordered, StreamExt as _};
use pier_protocol::ui::{SelectOption, UiCall, UiRequest, UiResponse};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::super::framing::LineSplitter;
use super::super::host_tools::HostTools;
use super::super::record::{Incoming, parse};
use super::super::screen::Screen;
use super::super::ui::UiProxy;
use crate::dialect::Dialect;
use crate::output::OutputQueue;

struct Stage {
    runtime: tokio::runtime::Runtime,
    output: OutputQueue,
}

thread_local! {
    /// Made once: each queue has a thread of its own.
    static STAGE: OnceCell<Stage> = const { OnceCell::new() };
}

fn dialogs() -> Vec<UiCall> {
    vec![
        UiCall::Select {
            title: "t".into(),
            options: vec![SelectOption::Text("a".into())],
            timeout: None,
            initial_index: None,
            help_text: None,
        },
        UiCall::Confirm {
            title: "t".into(),
            message: "m".into(),
            timeout: None,
        },
        UiCall::Input {
            title: "t".into(),
            placeholder: None,
            timeout: None,
        },
        UiCall::Editor {
            title: "t".into(),
            prefill: None,
            prompt_style: None,
        },
        UiCall::Confirm {
            title: "t".into(),
            message: "with a time limit".into(),
            timeout: Some(600_000),
        },
        UiCall::Confirm {
            title: "t".into(),
            message: "m".into(),
            timeout: None,
        },
    ]
}

pub(super) fn run(bytes: &[u8]) -> Vec<String> {
    STAGE.with(|stage| {
        let stage = stage.get_or_init(|| Stage {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("runtime"),
            output: OutputQueue::start(std::io::sink()).expect("thread"),
        });
        stage.runtime.block_on(drive(&stage.output, bytes))
    })
}

async fn drive(output: &OutputQueue, bytes: &[u8]) -> Vec<String> {
    let proxy = UiProxy::new(output.clone(), Dialect::Union.rules(), |_| {});
    let screen = Screen::new(output.clone());
    let host_tools = HostTools::new(output.clone());
    let calls = dialogs();
    let mut open: FuturesUnordered<_> = calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            let request = UiRequest {
                id: format!("d{}", index + 1),
                call: call.clone(),
                extension_path: String::new(),
            };
            let proxy = Arc::clone(&proxy);
            async move { (index, proxy.dialog(request, CancellationToken::new()).await) }
        })
        .collect();
    // Each is asked once, so that all are open.
    let early = futures::poll!(open.next());
    assert!(early.is_pending(), "no dialog ends by itself");
    let mut splitter = LineSplitter::new(64 * 1024);
    let mut frames = Vec::new();
    splitter.push(bytes, |frame| frames.push(frame));
    frames.extend(splitter.finish());
    let mut settled = vec![None; calls.len()];
    for frame in frames {
        match parse(frame) {
            Ok(Incoming::UiResponse(record)) => proxy.answer(&record),
            Ok(Incoming::UiInput(record)) => screen.input(&record),
            Ok(Incoming::HostTool(record)) => host_tools.answer(&record),
            Ok(Incoming::Command(_)) | Err(_) => {}
        }
        while let std::task::Poll::Ready(Some((index, response))) = futures::poll!(open.next()) {
            note(&mut settled, index, response);
        }
    }
    let answered = settled.iter().flatten().count();
    proxy.client_left();
    while let Some((index, response)) = open.next().await {
        if settled[index].is_none() {
            assert_eq!(response, UiResponse::Cancelled { timed_out: false });
        }
        note(&mut settled, index, response);
    }
    let mut behaviour = format!("{answered}");
    for (call, response) in calls.iter().zip(settled) {
        let response = response.expect("every dialog ends");
        behaviour.push_str(kind(call, &response));
    }
    vec![behaviour]
}

fn note(settled: &mut [Option<UiResponse>], index: usize, response: UiResponse) {
    assert!(settled[index].is_none(), "dialog {index} ended twice");
    settled[index] = Some(response);
}

/// The kind of an answer, which must be one that the dialog can have.
fn kind(call: &UiCall, response: &UiResponse) -> &'static str {
    match (call, response) {
        (_, UiResponse::Cancelled { timed_out: false }) => "-",
        (_, UiResponse::Cancelled { timed_out: true }) => "t",
        (UiCall::Confirm { .. }, UiResponse::Confirmed(yes)) => {
            if *yes {
                "y"
            } else {
                "n"
            }
        }
        (
            UiCall::Select { .. } | UiCall::Input { .. } | UiCall::Editor { .. },
            UiResponse::Value(Value::String(text)),
        ) => {
            if text.is_empty() {
                "e"
            } else {
                "v"
            }
        }
        other => panic!("an answer of the wrong kind: {other:?}"),
    }
}
