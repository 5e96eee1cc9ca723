//! What handlers can make of a compaction: every outcome of spec/extension-api.md §5.4, for each of the three reasons.
//!
//! | Outcome | Test |
//! |---|---|
//! | nobody says anything: the model summarises, `session_compact` after the entry is stored | `nothing_said` |
//! | `{cancel: true}` | `cancelled` |
//! | `{compaction: …}`: used as it is, no request, `fromHook` | `supplied` |
//! | the handler fails | `tests/specs/api/compaction-outcomes` |
//! | `session.compacting`: `context` appended | `hints_reach_the_request` |
//! | `session.compacting`: `prompt` replaces the instructions | `hints_reach_the_request` |
//! | `session.compacting`: `preserveData` is stored; not asked when the summary is supplied | `hints_reach_the_request`, `supplied` |
//! | the summary fails: `session_compact_failed` | `failed` |
//! | the abort signal of the event | `compaction::a_prompt_during_a_manual_compaction_…` |

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use pier_agent::compaction::SuppliedCompaction;
use pier_agent::hooks::{BeforeCompactOutcome, CompactingOutcome, Notification};
use pier_agent::provider::scripted::ScriptedProvider;
use pier_agent::provider::{
    AssistantEvent, ModelProvider, ModelRequest, ProviderError, RequestKind,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::lab::{Lab, Setup, set};

/// Keeps the summary requests, and fails them when told to.
#[derive(Default)]
struct Provider {
    scripted: ScriptedProvider,
    asked: Mutex<Vec<String>>,
    fails: bool,
}

#[async_trait]
impl ModelProvider for Provider {
    async fn stream(
        &self,
        request: ModelRequest,
        events: mpsc::Sender<AssistantEvent>,
        cancel: CancellationToken,
    ) -> Result<(), ProviderError> {
        if request.kind == RequestKind::Compaction {
            self.asked.lock().push(request.messages[0].text());
            if self.fails {
                return Err(ProviderError("no summary for you".into()));
            }
        }
        self.scripted.stream(request, events, cancel).await
    }
}

/// The three reasons: what leads to the compaction, and how its failure begins.
const REASONS: [(&str, &str); 3] = [
    ("manual", "Compaction failed: "),
    ("threshold", "Auto-compaction failed: "),
    ("overflow", "Context overflow recovery failed: "),
];

struct Bench {
    lab: Lab,
    provider: Arc<Provider>,
    /// `session_compact` and `session_compact_failed`.
    notified: Arc<Mutex<Vec<String>>>,
}

impl Bench {
    async fn new(fails: bool) -> Self {
        let provider = Arc::new(Provider {
            fails,
            ..Provider::default()
        });
        let lab = Lab::with(Setup {
            settings: json!({"compaction": {"keepRecentTokens": 25}}),
            provider: Some(provider.clone()),
            ..Setup::default()
        })
        .await;
        for text in [
            "first question",
            "second question",
            "third question",
            "fourth question",
        ] {
            lab.run(text).await;
        }
        let notified = Arc::new(Mutex::new(Vec::new()));
        let (seen, session) = (notified.clone(), lab.session.clone());
        set(&lab.hooks.notify, move |notification| match notification {
            Notification::SessionCompact {
                compaction_entry,
                from_extension,
                reason,
                will_retry,
            } => {
                let leaf = session.session().leaf_id();
                assert_eq!(
                    leaf.as_deref(),
                    Some(&*compaction_entry.id),
                    "it is stored already"
                );
                let retry = if will_retry { " retry" } else { "" };
                seen.lock().push(format!(
                    "{} from_extension={from_extension}{retry}",
                    reason.as_str()
                ));
            }
            Notification::SessionCompactFailed {
                reason,
                error_message,
                aborted,
                ..
            } => seen.lock().push(format!(
                "failed {} aborted={aborted} {}",
                reason.as_str(),
                error_message.unwrap_or_default()
            )),
            _ => {}
        });
        Bench {
            lab,
            provider,
            notified,
        }
    }

    /// Compacts for this reason; returns the `compaction_end`.
    async fn compact(&self, reason: &str) -> String {
        self.lab.log.take();
        let lines = match reason {
            "manual" => {
                // What it says is in the events as well.
                let _ = self.lab.session.compact(None).await;
                self.lab.log.take()
            }
            "threshold" => {
                let session = &self.lab.session;
                session
                    .set_model("scripted", "scripted-small")
                    .await
                    .unwrap();
                self.lab.run("@usage 19000 10\n@text big").await
            }
            _ => {
                self.lab
                    .run("@failTimes 1 prompt is too long\n@text fits now")
                    .await
            }
        };
        let ends: Vec<_> = lines
            .iter()
            .filter(|line| line.starts_with("compaction_end"))
            .collect();
        assert_eq!(ends.len(), 1, "{lines:#?}");
        ends[0].clone()
    }

    fn entry(&self) -> Value {
        let branch = self.lab.session.session().get_branch(None);
        let found = branch
            .iter()
            .rev()
            .find(|entry| entry.entry_type() == "compaction");
        found.map_or(Value::Null, |entry| {
            serde_json::from_str(entry.json()).unwrap()
        })
    }

    fn notified(&self) -> Vec<String> {
        self.notified.lock().clone()
    }
}

fn retry(reason: &str) -> bool {
    reason == "overflow"
}

#[tokio::test]
async fn nothing_said() {
    for (reason, _) in REASONS {
        let bench = Bench::new(false).await;
        set(&bench.lab.hooks.before_compact, |_| {
            BeforeCompactOutcome::Continue
        });
        assert_eq!(
            bench.compact(reason).await,
            format!(
                "compaction_end {reason} done aborted=false retry={}",
                retry(reason)
            )
        );
        let again = if retry(reason) { " retry" } else { "" };
        assert_eq!(
            bench.notified(),
            [format!("{reason} from_extension=false{again}")]
        );
        assert!(!bench.provider.asked.lock().is_empty());
        let entry = bench.entry();
        assert_eq!(entry["fromHook"], Value::Null, "{entry}");
        assert!(
            entry["summary"].as_str().unwrap().contains("SUMMARY("),
            "{entry}"
        );
    }
}

#[tokio::test]
async fn cancelled() {
    for (reason, _) in REASONS {
        let bench = Bench::new(false).await;
        set(&bench.lab.hooks.before_compact, |_| {
            BeforeCompactOutcome::Cancel
        });
        assert_eq!(
            bench.compact(reason).await,
            format!("compaction_end {reason} none aborted=true retry=false")
        );
        assert_eq!(bench.notified(), [format!("failed {reason} aborted=true ")]);
        assert!(bench.provider.asked.lock().is_empty());
        assert_eq!(bench.entry(), Value::Null);
        bench.lab.run("goes on").await;
    }
}

#[tokio::test]
async fn supplied() {
    for (reason, _) in REASONS {
        let bench = Bench::new(false).await;
        set(&bench.lab.hooks.before_compact, move |event| {
            assert_eq!(event.reason.as_str(), reason);
            assert_eq!(event.will_retry, retry(reason));
            assert!(!event.preparation.messages_to_summarize.is_empty());
            assert!(event.branch_entries.len() > 4);
            BeforeCompactOutcome::Supply(SuppliedCompaction {
                summary: "by hand".into(),
                first_kept_entry_id: Some(event.preparation.first_kept_entry_id.clone()),
                tokens_before: event.preparation.tokens_before,
                details: Some(json!({"mine": true})),
                preserve_data: Some(json!({"kept": 1})),
                ..SuppliedCompaction::default()
            })
        });
        set(&bench.lab.hooks.compacting, |_| {
            panic!("nobody is asked how to summarise")
        });
        let end = bench.compact(reason).await;
        assert!(
            end.starts_with(&format!("compaction_end {reason} done")),
            "{end}"
        );
        assert!(bench.notified()[0].contains("from_extension=true"));
        assert!(bench.provider.asked.lock().is_empty());
        let entry = bench.entry();
        assert_eq!(
            (
                &entry["summary"],
                &entry["fromHook"],
                &entry["details"],
                &entry["preserveData"]
            ),
            (
                &json!("by hand"),
                &json!(true),
                &json!({"mine": true}),
                &json!({"kept": 1})
            )
        );
        assert!(
            bench
                .lab
                .session
                .messages()
                .iter()
                .any(|message| message.text().contains("by hand")),
            "the model sees it"
        );
    }
}

#[tokio::test]
async fn hints_reach_the_request() {
    for (reason, _) in REASONS {
        let bench = Bench::new(false).await;
        set(&bench.lab.hooks.compacting, |event| {
            assert!(!event.messages.is_empty());
            CompactingOutcome {
                context: vec!["Mind the ports.".into(), "And the hosts.".into()],
                prompt: Some("Write it my way.".into()),
                preserve_data: Some(json!({"k": 1})),
            }
        });
        bench.compact(reason).await;
        let asked = bench.provider.asked.lock().clone();
        assert!(
            asked[0].ends_with(
                "</conversation>\n\nWrite it my way.\n\nMind the ports.\n\nAnd the hosts."
            ),
            "{}",
            asked[0]
        );
        assert_eq!(bench.entry()["preserveData"], json!({"k": 1}));
    }
}

#[tokio::test]
async fn failed() {
    for (reason, prefix) in REASONS {
        let bench = Bench::new(true).await;
        let end = bench.compact(reason).await;
        let expected = format!("compaction_end {reason} none aborted=false retry=false !{prefix}");
        assert!(
            end.starts_with(&expected) && end.ends_with("no summary for you"),
            "{end}"
        );
        let notified = bench.notified();
        assert!(
            notified[0].starts_with(&format!("failed {reason} aborted=false {prefix}")),
            "{notified:?}"
        );
        assert_eq!(bench.entry(), Value::Null);
        bench.lab.run("goes on").await;
    }
}
