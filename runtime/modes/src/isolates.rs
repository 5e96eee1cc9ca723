//! The engine as the command line sees it: begun early, handed to the session later.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pier_bridge::isolate::engine::EngineFactory;
use pier_bridge::isolate::{IsolateApi, IsolateFactory, IsolateSpec};
use pier_engine::{Engine, EngineOptions};
use tokio::runtime::{Builder, Runtime};

use crate::{diagnostics, proxy};

/// How programs that an agent starts can tell that it is one (`spec/cli.md` §5).
const PROCESS_VARIABLES: &[(&str, &str)] = &[("PI_CODING_AGENT", "true"), ("AI_AGENT", "pi")];

/// Makes isolates for extensions.
pub struct Isolates(EngineFactory);

impl Isolates {
    /// Initialises V8, makes the runtime of the process and begins to build isolates. Call it on the
    /// main thread while the process has no other thread: on processors with memory protection
    /// keys, threads that are older than V8's initialisation cannot run an isolate.
    ///
    /// The user's setting `httpProxy` in `agent_dir` becomes part of the environment; one that is wrong is a warning.
    ///
    /// # Errors
    /// When a runtime cannot be made.
    pub fn start(
        agent_dir: &Path,
        cache_dir: Option<PathBuf>,
        warm: usize,
    ) -> std::io::Result<(Runtime, Self)> {
        pier_engine::set_process_variables(PROCESS_VARIABLES);
        match proxy::variables(agent_dir, |name| std::env::var_os(name).is_some()) {
            Ok(found) => {
                let found: Vec<_> = found.iter().map(|(name, text)| (*name, &**text)).collect();
                pier_engine::set_process_variables(&found);
            }
            Err(problem) => diagnostics::warning(&problem),
        }
        // A runtime without threads, because making the real one starts its workers.
        let threadless = Builder::new_current_thread().build()?;
        drop(Engine::init(
            EngineOptions::default(),
            threadless.handle().clone(),
        ));
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .thread_name("pier-worker")
            .build()?;
        let engine = Engine::init(EngineOptions { cache_dir }, runtime.handle().clone());
        engine.warm_up(warm);
        Ok((runtime, Self(EngineFactory::new(Arc::new(engine)))))
    }
}

impl IsolateFactory for Isolates {
    fn spawn(&self, spec: IsolateSpec) -> Result<Arc<dyn IsolateApi>, String> {
        self.0.spawn(spec)
    }
}

/// Kills what extensions started and left behind, at the end of the process.
pub fn kill_children() {
    pier_engine::kill_children();
}
