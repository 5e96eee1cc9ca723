//! RPC mode: a frontend drives the session over standard input and output (`spec/rpc.md`).
//!
//! This file is the life of the process: open the session, attach input, load extensions, serve, end.
//! Input is attached before any extension is loaded, so a dialog in `session_start` can be answered
//! and a client learns that the program lives; requests that need extensions wait (`gate`).

pub(crate) mod command;
mod errors;
mod fields;
mod framing;
#[cfg(test)]
mod fuzz;
mod gate;
mod handlers;
mod host_tools;
mod id;
mod input;
mod models;
mod pump;
mod record;
mod requests;
pub(crate) mod response;
mod screen;
mod server;
mod shutdown;
mod sink;
mod surrogates;
mod ui;

use std::sync::Arc;

use parking_lot::Mutex;
use pier_agent::hooks::SessionStartReason;
use pier_bridge::Mode;
use serde_json::json;

use crate::diagnostics;
use crate::dialect::Dialect;
use crate::events::EventWriter;
use crate::host::ModeHost;
use crate::output::{OutputQueue, take_stdin};
use crate::setup::{Boot, Loading, StartError, Surroundings};
use crate::signals::EarlySignals;
use server::Server;

/// An id that is unique in the process.
pub(crate) fn next_id(kind: &str) -> String {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    format!(
        "{kind}-{}",
        NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    )
}

/// Serves one client until it leaves. Returns the exit code.
///
/// # Errors
/// When the process cannot be set up: signals, threads.
pub async fn run(
    boot: Boot,
    output: OutputQueue,
    dialect: Dialect,
    signals: EarlySignals,
) -> std::io::Result<i32> {
    let rules = dialect.rules();
    let mut signals = signals.listen()?;
    if rules.ready_record {
        let _ = output.push(response::line(
            &json!({ "type": "ready", "version": env!("CARGO_PKG_VERSION") }),
        ));
    }
    let ui = ui::UiProxy::new(output.clone(), rules, diagnostics::warning);
    let host_tools = host_tools::HostTools::new(output.clone());
    let screen = screen::Screen::new(output.clone());
    let requests = requests::Requests::new();
    let gate = gate::Gate::new();
    let host = {
        let (output, requests, ui) = (output.clone(), Arc::clone(&requests), Arc::clone(&ui));
        let gate = Arc::clone(&gate);
        ModeHost::new(
            move |report| {
                let id = requests.attribute(&report);
                if report.follows {
                    return;
                }
                for line in errors::lines(rules, &report, None, id.as_ref()) {
                    // That the client is gone is noticed by the main loop.
                    let _ = output.push(line);
                }
            },
            move || {
                ui.cancel_all();
                Box::new(gate.hold())
            },
        )
    };
    let surroundings = Surroundings {
        mode: Mode::Rpc,
        host: Arc::clone(&host),
        ui: Some(Arc::new(sink::RpcUi::new(
            Arc::clone(&ui),
            Arc::clone(&screen),
        ))),
        ui_profile: json!({
            "flavor": "rpc", "components": true, "columns": screen::DEFAULT_COLUMNS, "rows": screen::DEFAULT_ROWS,
        }),
    };
    let opened = match boot.open(surroundings).await {
        Ok(opened) => opened,
        Err(error) => {
            report_start_error(&output, &error);
            output.flush(shutdown::FLUSH_LIMIT).await;
            return Ok(1);
        }
    };
    screen.attach(Arc::clone(&opened.extensions));
    let events = EventWriter::new(output.clone(), rules);
    let subscription = opened.session.subscribe(events.clone());
    let server = Arc::new(Server {
        session: opened.session,
        extensions: opened.extensions,
        output,
        rules,
        events,
        ui,
        screen,
        host_tools,
        requests,
        gate,
        client: Mutex::default(),
        replacing_prompt: tokio::sync::Mutex::default(),
    });
    let mut pump = pump::Pump::start(input::start(take_stdin()?)?, Arc::clone(&server));
    let starting = tokio::spawn(start(Arc::clone(&server), opened.loading));
    let code = shutdown::serve(&server, &host, &mut pump, &mut signals, starting).await;
    drop(subscription);
    Ok(code)
}

/// Loads extensions and starts the session.
async fn start(server: Arc<Server>, loading: Loading) -> Result<(), StartError> {
    loading
        .load(|failure| {
            for line in errors::lines(server.rules, failure, Some("load"), None) {
                server.write(line);
            }
        })
        .await?;
    server.gate.bind();
    server.session.start(SessionStartReason::Startup).await;
    Ok(())
}

fn report_start_error(output: &OutputQueue, error: &StartError) {
    let _ = output.push(response::line(&json!({
        "type": "startup_error", "phase": error.phase(), "error": error.to_string(),
    })));
    diagnostics::error(&error.to_string());
}
