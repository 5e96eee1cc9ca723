//! Replacing, forking, navigating, reloading and ending a session (spec/sessions.md §5).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pier_protocol::entry::{BranchSummaryEntry, EntryBody};
use pier_protocol::message::Message;
use tokio_util::sync::CancellationToken;

use super::inner::Inner;
use super::models::storage;
use super::{ForkOutcome, ForkRequest, NavigateOptions, NavigateOutcome, SessionError};
use crate::compaction::summary::SummaryError;
use crate::hooks::{
    BeforeForkEvent, BeforeSwitchEvent, BeforeTreeEvent, DiscoveredResources, ForkPosition,
    HookEvent, Notification, SessionStartReason, ShutdownReason, SuppliedSummary,
};
use crate::prompt::PromptState;
use crate::session::{
    EntryRef, ForkPosition as StoredPosition, NewSession, SessionManager, SessionOptions,
};

/// Longest wait for a run to end when the session ends. Tools and extensions have bounds of their own below this.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(8);

impl Inner {
    /// `session_start` and `resources_discover`; restores active tools from the session.
    pub(crate) async fn start(
        self: &Arc<Self>,
        reason: SessionStartReason,
        previous: Option<PathBuf>,
    ) {
        self.report_session_warnings();
        if self.model().is_none() {
            // Extensions may have brought the first provider.
            self.select_initial(true);
        }
        self.restore_tools();
        self.notify_lifecycle(Notification::SessionStart {
            reason,
            previous_session_file: previous,
        })
        .await;
        self.discover_resources(reason).await;
        self.flush().await;
    }

    /// Reads context files, skills and templates anew, with those that extensions name.
    async fn discover_resources(&self, reason: SessionStartReason) {
        let hooks = self.hooks();
        let found = if hooks.subscribed(HookEvent::ResourcesDiscover) {
            hooks.resources_discover(&self.cwd(), reason).await
        } else {
            DiscoveredResources::default()
        };
        if reason == SessionStartReason::Startup && found == DiscoveredResources::default() {
            return;
        }
        let host = self.host.clone();
        let read = tokio::task::spawn_blocking(move || host.read_prompt(&found)).await;
        if let Ok(Some(config)) = read {
            self.prompt.write().renew(config);
            self.touch_prompt();
        }
    }

    /// Lifecycle events are always passed on: the bridge keeps its own books by them.
    async fn notify_lifecycle(&self, notification: Notification) {
        self.hooks().notify(notification).await;
    }

    fn restore_tools(&self) {
        if self.tools.has_allow_list() {
            return;
        }
        let context = self.session.context();
        let state = PromptState::replay(&context.system_messages);
        if state.known && !state.tools.is_empty() {
            let names: Vec<String> = state.tools.keys().cloned().collect();
            self.tools.set_active(&names);
            self.touch();
        }
    }

    pub(crate) async fn new_session(
        self: &Arc<Self>,
        parent: Option<String>,
    ) -> Result<bool, SessionError> {
        let _one = self.control_lock.lock().await;
        let reason = SessionStartReason::New;
        if self
            .vetoed(BeforeSwitchEvent {
                reason,
                target_session_file: None,
            })
            .await
        {
            return Ok(true);
        }
        let new = NewSession {
            id: None,
            parent_session: parent,
        };
        let next = if self.session.is_persistent() {
            SessionManager::create(&self.session_options(), new)
        } else {
            SessionManager::in_memory(&self.session_options(), new)
        }
        .map_err(storage)?;
        self.replace(next, ShutdownReason::New, reason, false).await;
        Ok(false)
    }

    pub(crate) async fn switch_session(
        self: &Arc<Self>,
        path: PathBuf,
    ) -> Result<bool, SessionError> {
        let _one = self.control_lock.lock().await;
        let reason = SessionStartReason::Resume;
        if self
            .vetoed(BeforeSwitchEvent {
                reason,
                target_session_file: Some(path.clone()),
            })
            .await
        {
            return Ok(true);
        }
        if self.session.refers_to(&path) && self.session.is_saved() {
            // Opening it a second time would find it locked by this very process.
            self.settle_for_replacement(ShutdownReason::Resume, Some(path.clone()))
                .await;
            let reread = self.session.reload();
            self.restart(ShutdownReason::Resume, reason, Some(path), true)
                .await;
            return reread.map(|()| false).map_err(storage);
        }
        // An error leaves the old session active.
        let options = self.session_options();
        let next = SessionManager::open(&path, &options).map_err(storage)?;
        next.check_cwd(options.dirs.cwd()).map_err(storage)?;
        self.replace(next, ShutdownReason::Resume, reason, true)
            .await;
        Ok(false)
    }

    /// How sessions of the current project are opened.
    fn session_options(&self) -> SessionOptions {
        let options = self.session.options();
        SessionOptions {
            dirs: options.dirs.for_cwd(self.cwd()),
            ..options
        }
    }

    async fn vetoed(&self, event: BeforeSwitchEvent) -> bool {
        let hooks = self.hooks();
        hooks.subscribed(HookEvent::SessionBeforeSwitch) && hooks.session_before_switch(event).await
    }

    pub(crate) async fn fork(
        self: &Arc<Self>,
        request: ForkRequest,
    ) -> Result<ForkOutcome, SessionError> {
        let _one = self.control_lock.lock().await;
        let event = BeforeForkEvent {
            entry_id: request.entry_id.clone(),
            position: request.position,
        };
        if self.hooks().session_before_fork(event).await {
            return Ok(ForkOutcome {
                cancelled: true,
                text: None,
            });
        }
        let position = match request.position {
            ForkPosition::Before => StoredPosition::Before,
            ForkPosition::At => StoredPosition::At,
        };
        let forked = self
            .session
            .fork(&request.entry_id, position)
            .map_err(storage)?;
        self.replace(
            forked.session,
            ShutdownReason::Fork,
            SessionStartReason::Fork,
            true,
        )
        .await;
        Ok(ForkOutcome {
            cancelled: false,
            text: forked.text,
        })
    }

    pub(crate) async fn clone_session(self: &Arc<Self>) -> Result<bool, SessionError> {
        let leaf = self.session.leaf_id().ok_or(SessionError::NothingToClone)?;
        let request = ForkRequest {
            entry_id: leaf.to_string(),
            position: ForkPosition::At,
        };
        Ok(self.fork(request).await?.cancelled)
    }

    async fn replace(
        self: &Arc<Self>,
        next: SessionManager,
        ended: ShutdownReason,
        starting: SessionStartReason,
        use_session: bool,
    ) {
        let previous = self.session.session_file();
        self.abort_bash();
        self.settle_for_replacement(ended, next.session_file())
            .await;
        self.session.replace_with(next);
        self.restart(ended, starting, previous, use_session).await;
    }

    /// The old session's last events, and `session_shutdown`.
    async fn settle_for_replacement(
        self: &Arc<Self>,
        ended: ShutdownReason,
        target: Option<PathBuf>,
    ) {
        self.request_abort();
        self.settled().await;
        self.notify_lifecycle(Notification::SessionShutdown {
            reason: ended,
            target_session_file: target,
        })
        .await;
        self.flush().await;
    }

    /// Everything of the old session that lives in memory goes; the runtime is built anew.
    async fn restart(
        self: &Arc<Self>,
        ended: ShutdownReason,
        starting: SessionStartReason,
        previous: Option<PathBuf>,
        use_session: bool,
    ) {
        {
            let mut state = self.state.lock();
            state.queues.clear();
            state.next_turn.clear();
            state.turn_end.clear();
            state.bash_results.clear();
            state.triggers.clear();
            state.continue_with_next_turn = false;
        }
        for warning in self.settings.reload() {
            self.host.warn(&warning);
        }
        if let Err(error) = self.host.reload_runtime(ended, starting).await {
            self.report("<runtime>", "session_start", error);
        }
        self.touch_prompt();
        self.select_initial(use_session);
        self.start(starting, previous).await;
    }

    pub(crate) async fn reload(self: &Arc<Self>) -> Result<(), SessionError> {
        let _one = self.control_lock.lock().await;
        if !self.is_idle() {
            return Err(SessionError::Failed(
                "Wait for the current response to finish before reloading.".to_owned(),
            ));
        }
        if self.state.lock().summary.is_some() {
            return Err(SessionError::Failed(
                "Wait for the current compaction to finish before reloading.".to_owned(),
            ));
        }
        self.not_settling().await;
        let file = self.session.session_file();
        self.notify_lifecycle(Notification::SessionShutdown {
            reason: ShutdownReason::Reload,
            target_session_file: file,
        })
        .await;
        for warning in self.settings.reload() {
            self.host.warn(&warning);
        }
        let reloaded = self
            .host
            .reload_runtime(ShutdownReason::Reload, SessionStartReason::Reload)
            .await;
        self.touch_prompt();
        self.start(SessionStartReason::Reload, None).await;
        reloaded.map_err(SessionError::Failed)
    }

    /// Ends the session. Nothing reaches listeners any more; a run is aborted and stored.
    pub(crate) async fn shutdown(self: &Arc<Self>, reason: ShutdownReason) {
        if std::mem::replace(&mut self.state.lock().closed, true) {
            return;
        }
        self.hub.close();
        self.abort_bash();
        self.request_abort();
        if tokio::time::timeout(SHUTDOWN_PATIENCE, self.settled())
            .await
            .is_err()
        {
            self.host
                .warn("A tool or extension did not stop in time; the session ends without it.");
        }
        self.notify_lifecycle(Notification::SessionShutdown {
            reason,
            target_session_file: None,
        })
        .await;
        self.sync_session().await;
    }

    /// Aborts whatever can be aborted; does not wait.
    pub(crate) fn request_abort(&self) {
        self.request_abort_run();
        if let Some(cancel) = &self.state.lock().summary {
            cancel.cancel();
        }
    }

    pub(crate) fn request_abort_run(&self) {
        if let Some(run) = &self.state.lock().run {
            run.cancel.cancel();
        }
    }

    /// Waits until neither a run nor a manual compaction or branch summary is active.
    pub(crate) async fn abort(&self) {
        self.state.lock().aborts += 1;
        self.request_abort();
        self.settled().await;
        loop {
            let ended = self.summary_ended.notified();
            if self.state.lock().summary.is_none() {
                return;
            }
            ended.await;
        }
    }

    // --- tree navigation -----------------------------------------------------------------------------------------

    pub(crate) async fn navigate(
        self: &Arc<Self>,
        target_id: &str,
        options: NavigateOptions,
    ) -> Result<NavigateOutcome, SessionError> {
        let _one = self.control_lock.lock().await;
        if !self.is_idle() {
            return Err(SessionError::Failed(
                "Wait for the current response to finish before navigating the session tree."
                    .to_owned(),
            ));
        }
        if self.state.lock().summary.is_some() {
            return Err(SessionError::Failed(
                "Wait for the current compaction or tree navigation to finish before navigating the session tree."
                    .to_owned(),
            ));
        }
        let target =
            self.session
                .get_entry(target_id)
                .ok_or_else(|| SessionError::EntryNotFound {
                    id: target_id.to_owned(),
                })?;
        let old_leaf = self.session.leaf_id();
        if old_leaf.as_deref() == Some(target_id) {
            return Ok(NavigateOutcome::default());
        }
        let cancel = CancellationToken::new();
        let _summary = self.begin_summary(cancel.clone()).await?;
        self.navigate_now(&target, old_leaf, options, cancel).await
    }

    async fn navigate_now(
        self: &Arc<Self>,
        target: &EntryRef,
        old_leaf: Option<Arc<str>>,
        options: NavigateOptions,
        cancel: CancellationToken,
    ) -> Result<NavigateOutcome, SessionError> {
        // A message goes back to the editor, so the position is before it.
        let editor_text = editable_text(target);
        let new_leaf: Option<String> = match &editor_text {
            Some(_) => target.parent_id().map(str::to_owned),
            None => Some(target.id().to_owned()),
        };
        let old_path = self.session.get_branch(None);
        let new_path = self.session.get_branch(Some(target.id()));
        let shared = old_path
            .iter()
            .zip(&new_path)
            .take_while(|(old, new)| old.id() == new.id())
            .count();
        let common = shared
            .checked_sub(1)
            .and_then(|at| old_path.get(at))
            .map(|entry| entry.id().to_owned());
        let left: Vec<EntryRef> = old_path.into_iter().skip(shared).collect();
        let mut options = options;
        let mut supplied = None;
        let hooks = self.hooks();
        if hooks.subscribed(HookEvent::SessionBeforeTree) {
            let outcome = hooks
                .session_before_tree(BeforeTreeEvent {
                    target_id: target.id().to_owned(),
                    old_leaf_id: old_leaf.as_deref().map(str::to_owned),
                    common_ancestor_id: common,
                    entries_to_summarize: left.iter().map(|entry| entry.entry().clone()).collect(),
                    user_wants_summary: options.summarize,
                    custom_instructions: options.custom_instructions.clone(),
                    replace_instructions: options.replace_instructions,
                    label: options.label.clone(),
                    signal: cancel.clone(),
                })
                .await;
            if outcome.cancel {
                return Ok(NavigateOutcome {
                    cancelled: true,
                    editor_text: None,
                });
            }
            supplied = outcome.summary;
            options.custom_instructions =
                outcome.custom_instructions.or(options.custom_instructions);
            options.replace_instructions = outcome
                .replace_instructions
                .unwrap_or(options.replace_instructions);
            options.label = outcome.label.or(options.label);
        }
        let from_extension = supplied.is_some() && options.summarize;
        let summary = match self
            .branch_summary(&left, &options, supplied, &cancel)
            .await
        {
            Ok(summary) => summary,
            Err(SummaryError::Cancelled) => {
                return Ok(NavigateOutcome {
                    cancelled: true,
                    editor_text: None,
                });
            }
            Err(SummaryError::Failed(text)) => return Err(SessionError::Failed(text)),
        };
        let summary_entry = self.move_leaf(new_leaf.as_deref(), summary, from_extension)?;
        if let Some(label) = options.label.as_deref().filter(|label| !label.is_empty()) {
            let labelled = summary_entry
                .as_ref()
                .map_or(target.id(), |entry| entry.id());
            self.session
                .append_label(labelled, Some(label))
                .map_err(storage)?;
        }
        self.restore_tools();
        self.touch();
        self.notify(Notification::SessionTree {
            new_leaf_id: self.session.leaf_id().map(|leaf| leaf.to_string()),
            old_leaf_id: old_leaf.map(|leaf| leaf.to_string()),
            summary_entry: summary_entry.map(|entry| entry.entry().clone()),
            from_extension,
        })
        .await;
        Ok(NavigateOutcome {
            cancelled: false,
            editor_text,
        })
    }

    async fn branch_summary(
        &self,
        left: &[EntryRef],
        options: &NavigateOptions,
        supplied: Option<SuppliedSummary>,
        cancel: &CancellationToken,
    ) -> Result<Option<SuppliedSummary>, SummaryError> {
        if !options.summarize {
            return Ok(None);
        }
        if let Some(supplied) = supplied {
            return Ok(Some(supplied));
        }
        let has_content = left.iter().any(|entry| {
            entry.message().is_some_and(|message| !message.is_system())
                || entry.entry_type() == "custom_message"
        });
        if !has_content {
            return Ok(None);
        }
        let model = self.model().ok_or_else(|| {
            SummaryError::Failed("No model available for summarization".to_owned())
        })?;
        let instructions = options.custom_instructions.as_deref();
        self.summarize_branch(
            &model,
            left,
            instructions,
            options.replace_instructions,
            cancel,
        )
        .await
        .map(Some)
    }

    fn move_leaf(
        &self,
        leaf: Option<&str>,
        summary: Option<SuppliedSummary>,
        from_extension: bool,
    ) -> Result<Option<EntryRef>, SessionError> {
        match summary {
            Some(summary) => {
                let entry = BranchSummaryEntry {
                    summary: summary.summary,
                    details: summary.details,
                    usage: summary.usage,
                    from_hook: from_extension.then_some(true),
                    ..BranchSummaryEntry::default()
                };
                self.session
                    .branch_with_summary(leaf, entry)
                    .map(Some)
                    .map_err(storage)
            }
            None => {
                match leaf {
                    Some(leaf) => self.session.branch(leaf).map_err(storage)?,
                    None => self.session.reset_leaf(),
                }
                Ok(None)
            }
        }
    }
}

/// Text of a user or custom message, which navigation puts into the editor.
fn editable_text(entry: &EntryRef) -> Option<String> {
    match entry.body() {
        EntryBody::Message(body) => match &*body.message {
            message @ Message::User(_) => Some(message.text()),
            _ => None,
        },
        EntryBody::CustomMessage(body) => Some(body.content.text()),
        _ => None,
    }
}
