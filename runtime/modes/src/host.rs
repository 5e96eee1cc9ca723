//! What the session asks of the mode around it: errors, warnings, shutdown, reload.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use pier_agent::hooks::{DiscoveredResources, SessionStartReason, ShutdownReason};
use pier_agent::host::HostActions;
use pier_agent::prompt::PromptConfig;
use pier_protocol::extension::ExtensionErrorReport;
use tokio::sync::watch;

use crate::diagnostics;
use crate::extensions::Extensions;

/// The callbacks of one mode.
pub(crate) struct ModeHost {
    shutdown: watch::Sender<bool>,
    report: Box<dyn Fn(ExtensionErrorReport) + Send + Sync>,
    /// Runs when the session is about to be replaced or reloaded; what it gives lives until the
    /// extensions are loaded anew.
    leave_session: Box<dyn Fn() -> Box<dyn Send> + Send + Sync>,
    extensions: OnceLock<Arc<dyn Extensions>>,
}

impl ModeHost {
    pub(crate) fn new(
        report: impl Fn(ExtensionErrorReport) + Send + Sync + 'static,
        leave_session: impl Fn() -> Box<dyn Send> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            shutdown: watch::Sender::new(false),
            report: Box::new(report),
            leave_session: Box::new(leave_session),
            extensions: OnceLock::new(),
        })
    }

    /// Names the extensions that a reload loads anew. Only the first call counts.
    pub(crate) fn attach(&self, extensions: Arc<dyn Extensions>) {
        let _ = self.extensions.set(extensions);
    }

    /// Resolves when an extension asked the process to end.
    pub(crate) async fn shutdown_requested(&self) {
        let mut requested = self.shutdown.subscribe();
        if requested.wait_for(|requested| *requested).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl HostActions for ModeHost {
    fn request_shutdown(&self) {
        self.shutdown.send_replace(true);
    }

    fn report_error(&self, report: ExtensionErrorReport) {
        (self.report)(report);
    }

    fn warn(&self, message: &str) {
        diagnostics::warning(message);
    }

    fn read_prompt(&self, discovered: &DiscoveredResources) -> Option<PromptConfig> {
        let (config, reports) = self.extensions.get()?.read_prompt(discovered)?;
        for report in reports {
            (self.report)(report);
        }
        Some(config)
    }

    async fn reload_runtime(
        &self,
        ended: ShutdownReason,
        starting: SessionStartReason,
    ) -> Result<(), String> {
        let _left = (self.leave_session)();
        match self.extensions.get() {
            Some(extensions) => extensions.reload(ended, starting).await,
            None => Ok(()),
        }
    }
}
