//! Sessions: replacing, reading, naming, exporting (`spec/rpc.md` §3.6).

use std::collections::HashSet;

use pier_agent::agent_session::ForkRequest;
use pier_agent::hooks::ForkPosition;
use pier_agent::session::{EntryRef, SessionError, SessionManager};
use pier_protocol::message::Message;
use serde::Serialize;
use serde_json::json;

use super::Outcome;
use crate::rpc::server::{Reply, Server};

#[derive(Serialize)]
struct Cancelled {
    cancelled: bool,
}

#[derive(Serialize)]
struct Forked {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    cancelled: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entries {
    entries: Vec<EntryRef>,
    leaf_id: Option<std::sync::Arc<str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tree {
    tree: pier_agent::session::SessionTree,
    leaf_id: Option<std::sync::Arc<str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ForkMessage {
    entry_id: String,
    text: String,
}

impl Server {
    pub(super) async fn new_session(&self, parent_session: Option<String>) -> Outcome {
        let _later_requests_wait = self.gate.hold();
        let cancelled = self
            .session
            .new_session(parent_session)
            .await
            .map_err(|error| error.to_string())?;
        Reply::data(&Cancelled { cancelled })
    }

    pub(super) async fn switch_session(&self, path: &str) -> Outcome {
        let _later_requests_wait = self.gate.hold();
        let cwd = std::env::current_dir()
            .map_err(|error| format!("The working directory is gone: {error}"))?;
        let path = crate::paths::expand(path, &cwd);
        let cancelled = self
            .session
            .switch_session(path)
            .await
            .map_err(|error| error.to_string())?;
        Reply::data(&Cancelled { cancelled })
    }

    pub(super) async fn fork(&self, entry_id: String) -> Outcome {
        let _later_requests_wait = self.gate.hold();
        let request = ForkRequest {
            entry_id,
            position: ForkPosition::Before,
        };
        let outcome = self
            .session
            .fork(request)
            .await
            .map_err(|error| error.to_string())?;
        Reply::data(&Forked {
            text: outcome.text,
            cancelled: outcome.cancelled,
        })
    }

    pub(super) async fn clone_session(&self) -> Outcome {
        let _later_requests_wait = self.gate.hold();
        let cancelled = self
            .session
            .clone_session()
            .await
            .map_err(|error| error.to_string())?;
        Reply::data(&Cancelled { cancelled })
    }

    pub(super) fn fork_messages(&self) -> Outcome {
        let entries = self.session.with_session(|session| session.get_entries());
        let messages: Vec<_> = entries
            .iter()
            .filter_map(|entry| match entry.message().map(|message| &**message) {
                Some(message @ Message::User(_)) => Some(ForkMessage {
                    entry_id: entry.id().to_owned(),
                    text: message.text(),
                }),
                _ => None,
            })
            .filter(|message| !message.text.is_empty())
            .collect();
        Reply::data(&json!({ "messages": messages }))
    }

    pub(super) fn entries(&self, since: Option<&str>) -> Outcome {
        let read = |session: &SessionManager| {
            let later = session.get_entries_after(since)?;
            if self.rules.system_messages {
                return Ok((later, session.leaf_id()));
            }
            let mut view = session.without_system_messages()?;
            let ids: HashSet<&str> = later.iter().map(|entry| entry.id()).collect();
            view.entries.retain(|entry| ids.contains(entry.id()));
            Ok((view.entries, view.leaf_id))
        };
        let (entries, leaf_id) =
            self.session
                .with_session(read)
                .map_err(|error: SessionError| match error {
                    SessionError::EntryNotFound(id) => format!("Entry not found: {id}"),
                    error => error.to_string(),
                })?;
        Reply::data(&Entries { entries, leaf_id })
    }

    pub(super) fn tree(&self) -> Outcome {
        let read = |session: &SessionManager| {
            if self.rules.system_messages {
                return Ok((session.get_tree(), session.leaf_id()));
            }
            let view = session.without_system_messages()?;
            Ok((session.tree_of(&view.entries), view.leaf_id))
        };
        let (tree, leaf_id) = self
            .session
            .with_session(read)
            .map_err(|error: SessionError| error.to_string())?;
        Reply::data(&Tree { tree, leaf_id })
    }

    pub(super) async fn set_session_name(&self, name: &str) -> Outcome {
        self.session
            .set_session_name(name)
            .await
            .map_err(|error| error.to_string())?;
        Ok(Reply::Done)
    }

    pub(super) async fn export_html(&self, output_path: Option<String>) -> Outcome {
        let (file, header, entries) = self.session.with_session(|session| {
            (
                session.session_file(),
                session.header(),
                session.get_branch(None),
            )
        });
        let Some(file) = file else {
            return Err("Cannot export in-memory session to HTML".to_owned());
        };
        let path = crate::export::target(output_path.as_deref(), &file);
        let page = crate::export::page(&header, &entries)
            .ok_or("Nothing to export yet - start a conversation first")?;
        let target = path.clone();
        let written = tokio::task::spawn_blocking(move || std::fs::write(target, page)).await;
        match written
            .map_err(std::io::Error::other)
            .and_then(|written| written)
        {
            Ok(()) => Reply::data(&json!({ "path": path })),
            Err(error) => Err(format!("Cannot write {}: {error}", path.display())),
        }
    }
}
