//! The process-wide part: V8's platform, the cache, and isolates made ahead of time.

use std::sync::{Arc, OnceLock};

use deno_core::{JsRuntime, v8};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::children;
use crate::error::StopReason;
use crate::isolate::{Command, Isolate};
use crate::loader::DiskCache;
use crate::options::{DEFAULT_BUSY_LIMIT, DEFAULT_HEAP_LIMIT, EngineOptions, IsolateOptions};
use crate::shared::Shared;
use crate::stdio::OutputTarget;
use crate::thread::{self, Adoption, ThreadContext};
use crate::{lost, watchdog};

/// Stack of an isolate's thread: V8 and swc both recurse deeply.
const STACK_SIZE: usize = 16 * 1024 * 1024;

/// Makes isolates. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    cache: Option<Arc<DiskCache>>,
    runtime: tokio::runtime::Handle,
    warm: Mutex<Vec<Warm>>,
}

/// An isolate that is being built or waits for an owner.
struct Warm {
    shared: Arc<Shared>,
    commands: mpsc::UnboundedSender<Command>,
    adopt: oneshot::Sender<Adoption>,
    output: OutputTarget,
}

impl Engine {
    /// Initialises V8. Call it once, on the main thread and before any thread that will run an isolate: on processors with
    /// memory protection keys, threads that do not descend from the initialising one crash.
    ///
    /// `runtime` runs host calls and reads output; it must outlive every isolate.
    pub fn init(options: EngineOptions, runtime: tokio::runtime::Handle) -> Self {
        static PLATFORM: OnceLock<()> = OnceLock::new();
        PLATFORM.get_or_init(|| {
            children::adopt_orphans();
            lost::catch_traps();
            // The snapshot is part of this binary; summing it up again for each isolate only costs time.
            v8::V8::set_flags_from_string("--no-verify-snapshot-checksum");
            JsRuntime::init_platform(None);
        });
        let cache = options.cache_dir.map(|dir| Arc::new(DiskCache::new(dir)));
        Self {
            inner: Arc::new(Inner {
                cache,
                runtime,
                warm: Mutex::new(Vec::new()),
            }),
        }
    }

    /// Begins to build isolates until `count` wait for an owner. Returns at once.
    pub fn warm_up(&self, count: usize) {
        loop {
            let mut warm = self.inner.warm.lock();
            if warm.len() >= count {
                return;
            }
            warm.push(self.build(DEFAULT_HEAP_LIMIT));
        }
    }

    /// An isolate: a warm one if there is one. Returns at once; calls wait until it is ready.
    pub fn spawn(&self, options: IsolateOptions) -> Isolate {
        let heap_limit = options.heap_limit_bytes.unwrap_or(DEFAULT_HEAP_LIMIT);
        let ready = if heap_limit == DEFAULT_HEAP_LIMIT {
            self.inner.warm.lock().pop()
        } else {
            None
        };
        let Warm {
            shared,
            commands,
            adopt,
            output,
        } = ready.unwrap_or_else(|| self.build(heap_limit));
        shared.set_busy_limit(options.busy_limit);
        *output.lock() = Some((options.name.clone(), options.output));
        let adoption = Adoption {
            host: options.host,
            permissions: options.permissions,
        };
        if adopt.send(adoption).is_err() {
            shared.stop(StopReason::Internal(
                "its thread ended while it was being built".to_string(),
            ));
        }
        Isolate::new(options.name, shared, commands)
    }

    /// Ends the isolates that nobody took.
    pub fn drop_warm(&self) {
        self.inner.warm.lock().clear();
    }

    fn build(&self, heap_limit: usize) -> Warm {
        let shared = Shared::new(DEFAULT_BUSY_LIMIT);
        let (commands, receiver) = mpsc::unbounded_channel();
        let (adopt, adoption) = oneshot::channel();
        let output = OutputTarget::default();
        let context = ThreadContext {
            shared: shared.clone(),
            commands: receiver,
            adoption,
            output: output.clone(),
            cache: self.inner.cache.clone(),
            heap_limit,
            runtime: self.inner.runtime.clone(),
        };
        watchdog::watch(&shared);
        let started = std::thread::Builder::new()
            .name("pier-isolate".into())
            .stack_size(STACK_SIZE)
            .spawn(move || thread::main(context));
        if let Err(error) = started {
            shared.stop(StopReason::Internal(format!(
                "cannot start its thread: {error}"
            )));
        }
        Warm {
            shared,
            commands,
            adopt,
            output,
        }
    }
}
