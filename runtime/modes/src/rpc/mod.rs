//! RPC mode: a frontend drives the session over standard input and output (`spec/rpc.md`).
//!
//! This file is the life of the process: attach input, start the session, serve, end. Input is
//! attached before extensions are bound, so a dialog in `session_start` can be answered; commands
//! wait until binding has ended.

pub(crate) mod command;
mod errors;
mod fields;
mod framing;
mod handlers;
mod host_tools;
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
use crate::setup::{Boot, StartError, Surroundings};
use crate::signals::Signals;
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
pub async fn run(boot: Boot, output: OutputQueue, dialect: Dialect) -> std::io::Result<i32> {
    let rules = dialect.rules();
    let mut signals = Signals::listen()?;
    if rules.ready_record {
        let _ = output.push(response::line(
            &json!({ "type": "ready", "version": env!("CARGO_PKG_VERSION") }),
        ));
    }
    let ui = ui::UiProxy::new(output.clone(), rules, diagnostics::warning);
    let host_tools = host_tools::HostTools::new(output.clone());
    let screen = screen::Screen::new(output.clone());
    let requests = requests::Requests::new();
    let host = {
        let (output, requests, ui) = (output.clone(), Arc::clone(&requests), Arc::clone(&ui));
        ModeHost::new(
            move |report| {
                let id = requests.attribute(&report);
                for line in errors::lines(rules, &report, None, id.as_ref()) {
                    // That the client is gone is noticed by the main loop.
                    let _ = output.push(line);
                }
            },
            move || ui.cancel_all(),
        )
    };
    let mut pump = pump::Pump::start(
        input::start(take_stdin()?)?,
        output.clone(),
        Arc::clone(&ui),
        Arc::clone(&screen),
        Arc::clone(&host_tools),
    );

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
    let booting = boot.start(surroundings);
    let started = tokio::select! {
        started = booting => started,
        signal = signals.next() => {
            output.flush(shutdown::FLUSH_LIMIT).await;
            return Ok(signal.exit_code());
        }
    };
    let started = match started {
        Ok(started) => started,
        Err(error) => {
            report_start_error(&output, &error);
            output.flush(shutdown::FLUSH_LIMIT).await;
            return Ok(1);
        }
    };
    for failure in &started.failures {
        for line in errors::lines(rules, failure, Some("load"), None) {
            let _ = output.push(line);
        }
    }

    screen.attach(Arc::clone(&started.extensions));
    let events = EventWriter::new(output.clone(), rules);
    let subscription = started.session.subscribe(events.clone());
    let server = Arc::new(Server {
        session: started.session.clone(),
        extensions: started.extensions,
        output,
        rules,
        events,
        ui,
        host_tools,
        requests,
        client: Mutex::default(),
    });
    let binding = {
        let session = started.session.clone();
        tokio::spawn(async move { session.start(SessionStartReason::Startup).await })
    };
    let code = shutdown::serve(&server, &host, &mut pump, &mut signals, binding).await;
    drop(subscription);
    Ok(code)
}

fn report_start_error(output: &OutputQueue, error: &StartError) {
    let _ = output.push(response::line(&json!({
        "type": "startup_error", "phase": error.phase(), "error": error.to_string(),
    })));
    diagnostics::error(&error.to_string());
}
