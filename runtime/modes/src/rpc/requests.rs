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
    active: watch::Sender<Counts>,
    commands: Mutex<Vec<Arc<CommandScope>>>,
    run: Mutex<Run>,
}

/// How many requests are being handled.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    all: usize,
    /// Those of them that came with the latest input.
    latest: usize,
    /// Number of the latest input: records that came without a pause between them.
    input: u64,
}

/// The request that started the active run.
#[derive(Debug, Default)]
struct Run {
    id: RequestId,
    input: Option<u64>,
}

/// An extension command that runs on behalf of a request.
pub(crate) struct CommandScope {
    name: String,
    /// The path of its extension, if it is known.
    extension: Option<String>,
    id: RequestId,
    failure: Mutex<Option<ExtensionErrorReport>>,
}

impl Requests {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            ids: Mutex::default(),
            active: watch::Sender::new(Counts::default()),
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
        self.active.send_modify(|counts| {
            counts.all += 1;
            counts.latest += 1;
        });
        Some(Active {
            requests: Arc::clone(self),
            key,
            input: self.active.borrow().input,
        })
    }

    /// How many requests are being handled.
    pub(crate) fn count(&self) -> usize {
        self.active.borrow().all
    }

    /// What comes from now on belongs to another input than what came before.
    pub(crate) fn begin_input(&self) {
        self.active.send_modify(|counts| {
            counts.input += 1;
            counts.latest = 0;
        });
    }

    /// Resolves when no request of the latest input is being handled. A prompt is until its run settled.
    pub(crate) async fn last_input_done(&self) {
        let mut active = self.active.subscribe();
        // The sender lives as long as `self`.
        let _ = active.wait_for(|counts| counts.latest == 0).await;
    }

    /// Whether a request of the latest input started the active run.
    pub(crate) fn last_input_runs(&self) -> bool {
        self.run.lock().input == Some(self.active.borrow().input)
    }

    /// Resolves when no request is being handled.
    pub(crate) async fn none_active(&self) {
        let mut active = self.active.subscribe();
        // The sender lives as long as `self`.
        let _ = active.wait_for(|counts| counts.all == 0).await;
    }

    /// Enters an extension command, so that its failure can be told to the request.
    pub(crate) fn enter_command(
        self: &Arc<Self>,
        name: &str,
        extension: Option<String>,
        id: &RequestId,
    ) -> ActiveCommand {
        let scope = Arc::new(CommandScope {
            name: name.to_owned(),
            extension,
            id: id.clone(),
            failure: Mutex::default(),
        });
        self.commands.lock().push(Arc::clone(&scope));
        ActiveCommand {
            requests: Arc::clone(self),
            scope,
        }
    }

    /// Notes which request started the run that is active.
    pub(crate) fn set_run(&self, id: RequestId, active: Option<&Active>) {
        let input = active.map(|active| active.input);
        *self.run.lock() = Run { id, input };
    }

    /// Forgets the run of this request, unless another one has begun since.
    pub(crate) fn clear_run(&self, id: &RequestId) {
        let mut run = self.run.lock();
        if run.id == *id {
            *run = Run::default();
        }
    }

    /// The request that an error belongs to: the command it names, else the one command of its extension that runs
    /// (it may have ended the process, or left a promise alone), else the active run. A command that is named remembers it.
    pub(crate) fn attribute(&self, report: &ExtensionErrorReport) -> RequestId {
        if let Some(name) = report.extension_path.strip_prefix("command:") {
            // The latest of several that run at once; the others fail on their own.
            let commands = self.commands.lock();
            if let Some(scope) = commands.iter().rev().find(|scope| scope.name == name) {
                scope.failure.lock().get_or_insert_with(|| report.clone());
                return scope.id.clone();
            }
        }
        let commands = self.commands.lock();
        let mut of_extension = commands
            .iter()
            .filter(|scope| scope.extension.as_ref() == Some(&report.extension_path));
        if let (Some(scope), None) = (of_extension.next(), of_extension.next()) {
            return scope.id.clone();
        }
        self.run.lock().id.clone()
    }
}

/// A request that is being handled.
pub(crate) struct Active {
    requests: Arc<Requests>,
    key: Option<String>,
    input: u64,
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
        self.requests.active.send_modify(|counts| {
            counts.all -= 1;
            if counts.input == self.input {
                counts.latest -= 1;
            }
        });
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

    #[tokio::test]
    async fn only_requests_of_the_latest_input_are_waited_for() {
        let requests = Requests::new();
        let early = requests.enter(&None).expect("free");
        requests.set_run(id(json!("early")), Some(&early));
        assert!(requests.last_input_runs());
        requests.begin_input();
        assert!(!requests.last_input_runs());
        requests.last_input_done().await;
        let late = requests.enter(&None).expect("free");
        drop(early);
        assert_eq!(requests.active.borrow().latest, 1);
        drop(late);
        requests.last_input_done().await;
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
        let command = requests.enter_command("fail", Some("/b.ts".into()), &id(json!("c3")));
        let stopped = ExtensionErrorReport::new("/b.ts", "process_exit", "x");
        assert_eq!(requests.attribute(&stopped), id(json!("c3")));
        let report = ExtensionErrorReport::new("command:fail", "command", "on purpose");
        assert_eq!(requests.attribute(&report), id(json!("c3")));
        assert_eq!(
            command.failure().map(|failure| failure.error),
            Some("on purpose".into())
        );
        drop(command);
        assert_eq!(requests.attribute(&report), None);
        requests.set_run(id(json!("p")), None);
        assert_eq!(
            requests.attribute(&ExtensionErrorReport::new("/a.ts", "turn_end", "x")),
            id(json!("p"))
        );
    }
}
