//! Requests that are being handled: how many, under which ids, and which errors they caused.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use pier_protocol::extension::ExtensionErrorReport;
use tokio::sync::watch;

use super::record::RequestId;

/// The table of active requests.
pub(crate) struct Requests {
    ids: Mutex<HashSet<String>>,
    active: watch::Sender<usize>,
    commands: Mutex<Vec<Arc<CommandScope>>>,
    run: Mutex<RequestId>,
}

/// An extension command that runs on behalf of a request.
pub(crate) struct CommandScope {
    name: String,
    id: RequestId,
    failure: Mutex<Option<ExtensionErrorReport>>,
}

impl Requests {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            ids: Mutex::default(),
            active: watch::Sender::new(0),
            commands: Mutex::default(),
            run: Mutex::default(),
        })
    }

    /// Enters a request; it counts as active until the guard is dropped. `None` when a request
    /// with this id is still being handled, because their answers could not be told apart.
    pub(crate) fn enter(self: &Arc<Self>, id: &RequestId) -> Option<Active> {
        let key = id
            .as_ref()
            .filter(|id| !id.is_null())
            .map(|id| id.text().to_owned());
        if let Some(key) = &key
            && !self.ids.lock().insert(key.clone())
        {
            return None;
        }
        self.active.send_modify(|count| *count += 1);
        Some(Active {
            requests: Arc::clone(self),
            key,
        })
    }

    /// How many requests are being handled.
    pub(crate) fn count(&self) -> usize {
        *self.active.borrow()
    }

    /// Resolves when no request is being handled.
    pub(crate) async fn none_active(&self) {
        let mut active = self.active.subscribe();
        // The sender lives as long as `self`.
        let _ = active.wait_for(|count| *count == 0).await;
    }

    /// Enters an extension command, so that its failure can be told to the request.
    pub(crate) fn enter_command(self: &Arc<Self>, name: &str, id: &RequestId) -> ActiveCommand {
        let scope = Arc::new(CommandScope {
            name: name.to_owned(),
            id: id.clone(),
            failure: Mutex::default(),
        });
        self.commands.lock().push(Arc::clone(&scope));
        ActiveCommand {
            requests: Arc::clone(self),
            scope,
        }
    }

    /// Notes which request started the run that is active, or that none is.
    pub(crate) fn set_run(&self, id: RequestId) {
        *self.run.lock() = id;
    }

    /// Forgets the run of this request, unless another one has begun since.
    pub(crate) fn clear_run(&self, id: &RequestId) {
        let mut run = self.run.lock();
        if *run == *id {
            *run = None;
        }
    }

    /// The request that an error belongs to: the command it names, else the active run. The
    /// command remembers it.
    pub(crate) fn attribute(&self, report: &ExtensionErrorReport) -> RequestId {
        if let Some(name) = report.extension_path.strip_prefix("command:") {
            // The latest of several that run at once; the others fail on their own.
            let commands = self.commands.lock();
            if let Some(scope) = commands.iter().rev().find(|scope| scope.name == name) {
                scope.failure.lock().get_or_insert_with(|| report.clone());
                return scope.id.clone();
            }
        }
        self.run.lock().clone()
    }
}

/// A request that is being handled.
pub(crate) struct Active {
    requests: Arc<Requests>,
    key: Option<String>,
}

impl Active {
    /// Frees the id for reuse while the request still counts, as a prompt does until its run settled.
    pub(crate) fn answered(&mut self) {
        if let Some(key) = self.key.take() {
            self.requests.ids.lock().remove(&key);
        }
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.answered();
        self.requests.active.send_modify(|count| *count -= 1);
    }
}

/// A command that is running.
pub(crate) struct ActiveCommand {
    requests: Arc<Requests>,
    scope: Arc<CommandScope>,
}

impl ActiveCommand {
    /// Its failure, if one was reported.
    pub(crate) fn failure(&self) -> Option<ExtensionErrorReport> {
        self.scope.failure.lock().clone()
    }
}

impl Drop for ActiveCommand {
    fn drop(&mut self) {
        self.requests
            .commands
            .lock()
            .retain(|scope| !Arc::ptr_eq(scope, &self.scope));
    }
}

#[cfg(test)]
mod tests {
    use pier_protocol::extension::ExtensionErrorReport;
    use serde_json::json;

    use super::Requests;
    use crate::rpc::id::Id;

    fn id(value: serde_json::Value) -> Option<Id> {
        Some(Id::from(&value))
    }

    #[test]
    fn an_id_is_taken_until_its_request_was_answered() {
        let requests = Requests::new();
        let mut first = requests.enter(&id(json!("a"))).expect("free");
        assert!(requests.enter(&id(json!("a"))).is_none());
        assert!(requests.enter(&id(json!(1))).is_some());
        first.answered();
        assert!(requests.enter(&id(json!("a"))).is_some());
        assert_eq!(requests.count(), 1);
        drop(first);
        assert_eq!(requests.count(), 0);
    }

    #[test]
    fn requests_without_an_id_never_collide() {
        let requests = Requests::new();
        let _first = requests.enter(&None).expect("free");
        assert!(requests.enter(&None).is_some());
    }

    #[test]
    fn a_failure_is_told_to_the_command_it_names() {
        let requests = Requests::new();
        let command = requests.enter_command("fail", &id(json!("c3")));
        let report = ExtensionErrorReport::new("command:fail", "command", "on purpose");
        assert_eq!(requests.attribute(&report), id(json!("c3")));
        assert_eq!(
            command.failure().map(|failure| failure.error),
            Some("on purpose".into())
        );
        drop(command);
        assert_eq!(requests.attribute(&report), None);
        requests.set_run(id(json!("p")));
        assert_eq!(
            requests.attribute(&ExtensionErrorReport::new("/a.ts", "turn_end", "x")),
            id(json!("p"))
        );
    }
}
