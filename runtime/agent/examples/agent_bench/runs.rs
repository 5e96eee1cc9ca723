//! Turns per second and cost of a delta, with a provider in memory that answers at once. References: for deltas the same events
//! through a bare channel; for turns the same messages written as JSON.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use pier_agent::agent_session::PromptRequest;
use pier_agent::events::EventListener;
use pier_agent::hooks::{InputSource, NoHooks, SessionStartReason};
use pier_agent::host::NoHost;
use pier_agent::prompt::PromptConfig;
use pier_agent::provider::scripted::ScriptedProvider;
use pier_agent::provider::{
    AssistantEvent, ModelProvider, ModelRequest, ProviderError, ProviderRegistry,
};
use pier_agent::session::{NewSession, SessionDirs, SessionManager, SessionOptions, SyncPolicy};
use pier_agent::settings::SettingsStore;
use pier_agent::tool::{Tool, ToolCall, ToolError, ToolFilter, ToolOutput, ToolRegistry, ToolSpec};
use pier_agent::{AgentConfig, AgentSession};
use pier_protocol::event::AgentEvent;
use pier_protocol::extension::SourceInfo;
use pier_protocol::message::{AssistantMessage, Block, StopReason, ToolCallBlock};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{Report, Row, median_of};

const DELTAS: [usize; 3] = [100, 1_000, 20_000];
const TURNS: [usize; 3] = [100, 1_000, 4_000];
const DELTA: &str = "about ten ";

pub(crate) fn measure(report: &Report) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    for prompts in TURNS {
        let total = median_of(|| runtime.block_on(many_prompts(prompts)))?;
        report.row(&Row {
            name: "turn: prompt and answer",
            size: prompts,
            unit: "turns",
            total,
            reference: Some(plain_messages(prompts, 2)?),
        });
    }
    for turns in TURNS {
        let total = median_of(|| runtime.block_on(one_long_run(turns)))?;
        report.row(&Row {
            name: "turn: tool call and result",
            size: turns,
            unit: "turns",
            total,
            reference: Some(plain_messages(turns, 2)?),
        });
    }
    for deltas in DELTAS {
        let total = median_of(|| runtime.block_on(one_stream(deltas)))?;
        let reference = median_of(|| runtime.block_on(bare_channel(deltas)))?;
        report.row(&Row {
            name: "delta of an answer",
            size: deltas,
            unit: "deltas",
            total,
            reference: Some(reference),
        });
    }
    Ok(())
}

/// Answers from memory.
enum Provider {
    /// So many deltas.
    Deltas(usize),
    /// A tool call in each answer until so many were asked for.
    Calls { asked: AtomicUsize, turns: usize },
}

#[async_trait]
impl ModelProvider for Provider {
    async fn stream(
        &self,
        request: ModelRequest,
        events: mpsc::Sender<AssistantEvent>,
        _cancel: CancellationToken,
    ) -> Result<(), ProviderError> {
        let message = |content, stop_reason| AssistantMessage {
            content,
            stop_reason,
            api: request.model.api.clone(),
            provider: request.model.provider.clone(),
            model: request.model.id.clone(),
            timestamp: 1,
            ..AssistantMessage::default()
        };
        let script = match self {
            Provider::Deltas(count) => answer(*count, |content| message(content, StopReason::Stop)),
            Provider::Calls { asked, turns } => {
                let turn = asked.fetch_add(1, Ordering::Relaxed) + 1;
                if turn >= *turns {
                    answer(1, |content| message(content, StopReason::Stop))
                } else {
                    let call = ToolCallBlock {
                        id: format!("call_{turn}"),
                        name: "nothing".to_owned(),
                        ..ToolCallBlock::default()
                    };
                    let content = vec![Block::ToolCall(call)];
                    vec![AssistantEvent::Done {
                        message: message(content, StopReason::ToolUse),
                    }]
                }
            }
        };
        for event in script {
            if events.send(event).await.is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn answer(
    deltas: usize,
    message: impl FnOnce(Vec<Block>) -> AssistantMessage,
) -> Vec<AssistantEvent> {
    let text = DELTA.repeat(deltas);
    let mut events = vec![
        AssistantEvent::Start {},
        AssistantEvent::TextStart { content_index: 0 },
    ];
    events.extend((0..deltas).map(|_| AssistantEvent::TextDelta {
        content_index: 0,
        delta: DELTA.to_owned(),
    }));
    events.push(AssistantEvent::TextEnd {
        content_index: 0,
        content: text.clone(),
        text_signature: None,
    });
    events.push(AssistantEvent::Done {
        message: message(vec![Block::text(text)]),
    });
    events
}

struct Nothing(ToolSpec);

#[async_trait]
impl Tool for Nothing {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn execute(&self, _call: ToolCall) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("done"))
    }
}

/// Counts events, as the cheapest client would.
#[derive(Default)]
struct Counter(AtomicUsize);

#[async_trait]
impl EventListener for Counter {
    async fn on_event(&self, _event: &Arc<AgentEvent>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A stored session around a provider, and its directory.
async fn session(provider: Provider) -> Result<(AgentSession, tempfile::TempDir), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let options = SessionOptions {
        dirs: SessionDirs::new(dir.path(), dir.path().join("agent")),
        sync: SyncPolicy::OFF,
    };
    let providers = Arc::new(ProviderRegistry::new());
    providers.register(
        "bench",
        "scripted",
        Arc::new(provider),
        ScriptedProvider::models(),
    );
    let model = providers.find("scripted", "scripted-1");
    let tools = Arc::new(ToolRegistry::new(ToolFilter::default()));
    let parameters = json!({"type": "object", "properties": {}});
    let spec = ToolSpec::new(
        "nothing",
        "Does nothing",
        parameters,
        SourceInfo::builtin("nothing"),
    );
    tools.register("bench", Arc::new(Nothing(spec)));
    let session = AgentSession::new(AgentConfig {
        session: SessionManager::create(&options, NewSession::default())?,
        settings: Arc::new(SettingsStore::in_memory(serde_json::Map::new())),
        providers,
        tools,
        hooks: Arc::new(NoHooks),
        host: Arc::new(NoHost),
        prompt: PromptConfig::default(),
        model,
        thinking_level: None,
        scoped_models: Vec::new(),
    });
    session.start(SessionStartReason::Startup).await;
    Ok((session, dir))
}

async fn run(session: &AgentSession, text: &str) -> Result<(), Box<dyn Error>> {
    session
        .prompt(PromptRequest::new(text, InputSource::Rpc))
        .await?;
    session.run_settled().await;
    Ok(())
}

async fn many_prompts(count: usize) -> Result<Duration, Box<dyn Error>> {
    let (session, _dir) = session(Provider::Deltas(1)).await?;
    let _events = session.subscribe(Arc::new(Counter::default()));
    run(&session, "warm up").await?;
    let started = Instant::now();
    for _ in 0..count {
        run(&session, "a question of the usual length, more or less").await?;
    }
    Ok(started.elapsed())
}

async fn one_long_run(turns: usize) -> Result<Duration, Box<dyn Error>> {
    let (session, _dir) = session(Provider::Calls {
        asked: AtomicUsize::new(0),
        turns,
    })
    .await?;
    let _events = session.subscribe(Arc::new(Counter::default()));
    let started = Instant::now();
    run(&session, "work").await?;
    Ok(started.elapsed())
}

async fn one_stream(deltas: usize) -> Result<Duration, Box<dyn Error>> {
    let (session, _dir) = session(Provider::Deltas(deltas)).await?;
    let counter = Arc::new(Counter::default());
    let _events = session.subscribe(counter.clone());
    run(&session, "warm up").await?;
    let started = Instant::now();
    run(&session, "stream").await?;
    let took = started.elapsed();
    if counter.0.load(Ordering::Relaxed) < 2 * deltas {
        return Err("deltas are missing".into());
    }
    Ok(took)
}

/// The same events from one task to another, and nothing else.
async fn bare_channel(deltas: usize) -> Result<Duration, Box<dyn Error>> {
    let started = Instant::now();
    let (sender, mut receiver) = mpsc::channel(64);
    let sending = tokio::spawn(async move {
        for event in answer(deltas, |content| AssistantMessage {
            content,
            ..AssistantMessage::default()
        }) {
            if sender.send(event).await.is_err() {
                break;
            }
        }
    });
    let mut seen = 0;
    while receiver.recv().await.is_some() {
        seen += 1;
    }
    sending.await?;
    if seen < deltas {
        return Err("events are missing".into());
    }
    Ok(started.elapsed())
}

/// So many turns' messages as JSON lines in a file.
fn plain_messages(turns: usize, each: usize) -> Result<Duration, Box<dyn Error>> {
    use std::io::Write as _;
    let message = AssistantMessage {
        content: vec![Block::text(DELTA)],
        ..AssistantMessage::default()
    };
    median_of(|| {
        let mut file = tempfile::tempfile()?;
        let started = Instant::now();
        for _ in 0..turns * each {
            let line = serde_json::to_string(&message)?;
            file.write_all(line.as_bytes())?;
        }
        Ok(started.elapsed())
    })
}
