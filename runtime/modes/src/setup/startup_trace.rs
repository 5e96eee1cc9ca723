//! The line that `cargo xtask bench startup` waits for: `pier-startup {"loaded_ms":12.3,"extensions":20}` on
//! standard error, once all extensions are loaded, and only when `PIER_STARTUP_TRACE=1` asks for it.
//!
//! `loaded_ms` counts from when settings were about to be read; the benchmark has a clock of its own that starts
//! before the process does.

use std::time::Instant;

/// A start that may be traced.
pub(super) struct StartupTrace {
    since: Option<Instant>,
}

impl StartupTrace {
    /// Begins, if the environment asks for it.
    pub(super) fn begin() -> Self {
        let wanted = std::env::var_os("PIER_STARTUP_TRACE").is_some_and(|value| value == "1");
        Self {
            since: wanted.then(Instant::now),
        }
    }

    /// Reports that loading has ended.
    pub(super) fn loaded(&self, extensions: usize) {
        if let Some(since) = self.since {
            let millis = since.elapsed().as_secs_f64() * 1e3;
            eprintln!("pier-startup {{\"loaded_ms\":{millis:.1},\"extensions\":{extensions}}}");
        }
    }
}
