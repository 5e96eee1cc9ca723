//! Asking a model for a summary (spec/agent-loop.md §7.3). The wording of the requests is ours.

use std::sync::Arc;
use std::time::Duration;

use pier_protocol::event::{AgentEvent, CompactionReason, SummarySource};
use pier_protocol::message::{AssistantMessage, Message, StopReason, Usage};
use pier_protocol::model::Model;
use tokio_util::sync::CancellationToken;

use super::serialize::serialize;
use super::{CompactionPreparation, SuppliedCompaction};
use crate::agent_session::inner::Inner;
use crate::clock::now_ms;
use crate::hooks::CompactingOutcome;
use crate::provider::source::Source;
use crate::provider::{ModelRequest, RequestKind, RequestObserver};
use crate::retry;

const SYSTEM_PROMPT: &str = "You write summaries of conversations between a user and a coding agent. The summary replaces \
the conversation for the agent that goes on with the work, so it must hold everything that agent needs. You do not \
take part in the conversation and do not answer anything in it.";
const NEW_SUMMARY: &str = "Summarise the conversation above. Use exactly these headings:\n\n## Goal\n## Constraints & Preferences\n\
## Progress\n### Done\n### In Progress\n### Blocked\n## Key Decisions\n## Next Steps\n## Critical Context\n\nKeep paths, names, commands \
and error texts as they are. Write (none) under a heading that has nothing.";
const UPDATED_SUMMARY: &str = "The previous summary covers what came before the conversation above. Bring it up to date with the \
conversation: keep what still holds, move what was finished, add what is new, drop what no longer matters. Use exactly these \
headings:\n\n## Goal\n## Constraints & Preferences\n## Progress\n### Done\n### In Progress\n### Blocked\n## Key Decisions\n## Next \
Steps\n## Critical Context\n\nKeep paths, names, commands and error texts as they are.";
const PREFIX_SUMMARY: &str = "The conversation above is the beginning of a turn whose end the agent still has. Summarise the beginning \
so that the end can be understood. Use exactly these headings:\n\n## Original Request\n## Progress So Far\n## Context Needed";
pub(crate) const BRANCH_SUMMARY: &str = "The conversation above is a line of work that the user has left. Summarise it for an agent that \
goes on elsewhere. Use exactly these headings:\n\n## Goal\n## Constraints & Preferences\n## Progress\n### Done\n### In Progress\n\
### Blocked\n## Key Decisions\n## Next Steps\n\nKeep paths, names, commands and error texts as they are.";
const NO_HISTORY: &str = "No prior history.";

/// Why there is no summary.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum SummaryError {
    #[error("cancelled")]
    Cancelled,
    #[error("{0}")]
    Failed(String),
}

/// What the retry events of a summary say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purpose {
    pub(crate) source: SummarySource,
    pub(crate) reason: Option<CompactionReason>,
}

impl Inner {
    /// The summary of a prepared compaction.
    pub(crate) async fn summarize(
        &self,
        model: &Arc<Model>,
        preparation: &CompactionPreparation,
        instructions: Option<&str>,
        hints: &CompactingOutcome,
        reason: CompactionReason,
        cancel: &CancellationToken,
    ) -> Result<SuppliedCompaction, SummaryError> {
        let purpose = Purpose {
            source: SummarySource::Compaction,
            reason: Some(reason),
        };
        let mut usage = None;
        let history = if preparation.messages_to_summarize.is_empty() && preparation.is_split_turn {
            preparation
                .previous_summary
                .clone()
                .unwrap_or_else(|| NO_HISTORY.to_owned())
        } else {
            let prompt = history_prompt(preparation, instructions, hints);
            let answer = self.ask_summary(model, prompt, purpose, cancel).await?;
            usage = add_usage(usage, answer.usage.clone());
            text_of(&answer)
        };
        let mut summary = history;
        if preparation.is_split_turn {
            let conversation = serialize(&preparation.turn_prefix_messages);
            let prompt =
                format!("<conversation>\n{conversation}\n</conversation>\n\n{PREFIX_SUMMARY}");
            let answer = self.ask_summary(model, prompt, purpose, cancel).await?;
            usage = add_usage(usage, answer.usage.clone());
            summary = format!(
                "{summary}\n\n---\n\n**Turn Context (split turn):**\n\n{}",
                text_of(&answer)
            );
        }
        summary.push_str(&preparation.file_ops.text());
        Ok(SuppliedCompaction {
            summary,
            first_kept_entry_id: Some(preparation.first_kept_entry_id.clone()),
            tokens_before: preparation.tokens_before,
            details: Some(preparation.file_ops.details()),
            usage,
            short_summary: None,
            preserve_data: hints.preserve_data.clone(),
        })
    }

    /// One summary request, repeated with the retry settings.
    pub(crate) async fn ask_summary(
        &self,
        model: &Arc<Model>,
        prompt: String,
        purpose: Purpose,
        cancel: &CancellationToken,
    ) -> Result<AssistantMessage, SummaryError> {
        let settings = self.settings();
        let mut attempt = 0;
        loop {
            let kind = match purpose.source {
                SummarySource::Compaction => RequestKind::Compaction,
                SummarySource::BranchSummary => RequestKind::BranchSummary,
            };
            let answer = self.request_summary(model, &prompt, kind, cancel).await;
            if cancel.is_cancelled() || answer.stop_reason == StopReason::Aborted {
                return Err(SummaryError::Cancelled);
            }
            let again = settings.retry.enabled
                && attempt < settings.retry.max_retries
                && retry::is_retryable(&answer, &settings.retry);
            if !again {
                if attempt > 0 {
                    self.emit(AgentEvent::SummarizationRetryFinished {}).await;
                }
                return check(answer);
            }
            attempt += 1;
            let delay_ms = retry::delay_ms(&settings.retry, attempt, &answer);
            self.emit(AgentEvent::SummarizationRetryScheduled {
                attempt,
                max_attempts: settings.retry.max_retries,
                delay_ms,
                error_message: answer.error_message.clone().unwrap_or_default(),
            })
            .await;
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(delay_ms)) => {}
                () = cancel.cancelled() => {
                    self.emit(AgentEvent::SummarizationRetryFinished {}).await;
                    return Err(SummaryError::Cancelled);
                }
            }
            self.emit(AgentEvent::SummarizationRetryAttemptStart {
                source: purpose.source,
                reason: purpose.reason,
            })
            .await;
        }
    }

    async fn request_summary(
        &self,
        model: &Arc<Model>,
        prompt: &str,
        kind: RequestKind,
        cancel: &CancellationToken,
    ) -> AssistantMessage {
        let failed = |text: String| AssistantMessage {
            stop_reason: StopReason::Error,
            error_message: Some(text),
            ..AssistantMessage::default()
        };
        let Some(entry) = self.providers.get(&model.provider) else {
            return failed(format!("Provider \"{}\" is not available.", model.provider));
        };
        if !entry.provider.has_credentials(model) {
            return failed(format!(
                "No API key found for provider \"{}\".",
                model.provider
            ));
        }
        let request = ModelRequest {
            model: model.clone(),
            kind,
            system_prompt: SYSTEM_PROMPT.to_owned(),
            messages: Arc::new(vec![Arc::new(Message::user(prompt, Vec::new(), now_ms()))]),
            tools: Vec::new(),
            thinking_level: self.thinking_level(),
            session_id: self.session.session_id(),
            options: serde_json::Map::new(),
            observer: RequestObserver::new(self.hooks()),
        };
        let trace = self.providers.trace(&request, self.hooks());
        Source::open(entry.provider, request, cancel, self.idle_limit(), trace)
            .collect(model, |_| std::future::ready(()))
            .await
    }
}

fn history_prompt(
    preparation: &CompactionPreparation,
    instructions: Option<&str>,
    hints: &CompactingOutcome,
) -> String {
    let mut prompt = format!(
        "<conversation>\n{}\n</conversation>\n\n",
        serialize(&preparation.messages_to_summarize)
    );
    if let Some(previous) = &preparation.previous_summary {
        prompt.push_str(&format!(
            "<previous-summary>\n{previous}\n</previous-summary>\n\n"
        ));
    }
    match &hints.prompt {
        Some(own) => prompt.push_str(own),
        None if preparation.previous_summary.is_some() => prompt.push_str(UPDATED_SUMMARY),
        None => prompt.push_str(NEW_SUMMARY),
    }
    if let Some(instructions) = instructions.map(str::trim).filter(|text| !text.is_empty()) {
        prompt.push_str(&format!("\n\nAdditional focus: {instructions}"));
    }
    for context in &hints.context {
        prompt.push_str(&format!("\n\n{context}"));
    }
    prompt
}

/// Only a complete answer of plain text is a summary.
fn check(answer: AssistantMessage) -> Result<AssistantMessage, SummaryError> {
    let fail = |text: &str| Err(SummaryError::Failed(text.to_owned()));
    match answer.stop_reason {
        StopReason::Error => fail(
            answer
                .error_message
                .as_deref()
                .unwrap_or("the model failed without a reason"),
        ),
        StopReason::Length => fail("the summary hit the output token limit"),
        _ if answer.tool_calls().next().is_some() => {
            fail("the model called a tool instead of writing a summary")
        }
        _ if text_of(&answer).trim().is_empty() => fail("the model wrote an empty summary"),
        _ => Ok(answer),
    }
}

pub(crate) fn text_of(answer: &AssistantMessage) -> String {
    pier_protocol::message::joined_text(&answer.content)
}

fn add_usage(sum: Option<Usage>, more: Usage) -> Option<Usage> {
    let Some(mut sum) = sum else {
        return Some(more);
    };
    sum.input += more.input;
    sum.output += more.output;
    sum.cache_read += more.cache_read;
    sum.cache_write += more.cache_write;
    sum.total_tokens += more.total_tokens;
    sum.cost.parts += more.cost.parts;
    sum.cost.total += more.cost.total;
    Some(sum)
}
