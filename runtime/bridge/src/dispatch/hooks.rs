//! [`ExtensionHooks`] over isolates: typed values in, one combined outcome out. The rules are in `combine`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use pier_agent::hooks::{
    BeforeAgentStart, BeforeAgentStartOutcome, BeforeCompactEvent, BeforeCompactOutcome,
    BeforeForkEvent, BeforeSettleEvent, BeforeSwitchEvent, BeforeTreeEvent, BeforeTreeOutcome,
    BoundaryOutcome, BoundaryPreview, CompactingEvent, CompactingOutcome, DiscoveredResources,
    ExtensionHooks, ForkPosition, HookEvent, HookFailure, InputEvent, InputOutcome, Notification,
    SessionStartReason, ToolBlock, ToolCallEvent, ToolCallOutcome, ToolResultEvent,
    ToolResultPatch, TurnEndEvent, UserBashEvent, UserBashOutcome,
};
use pier_protocol::event::AgentEvent;
use pier_protocol::message::{ImageBlock, Message};
use serde_json::{Map, Value, json};

use super::combine::{self, cancelled, event};
use super::{Circumstances, payload};
use crate::discovery::Profile;
use crate::host::{ExtensionHost, Shared};
use crate::wire::truthy;

/// The hooks object for an `AgentSession`.
pub struct BridgeHooks {
    shared: Arc<Shared>,
}

impl ExtensionHost {
    /// What the agent calls. One object serves any number of reloads.
    pub fn hooks(&self) -> Arc<dyn ExtensionHooks> {
        self.shared.hooks()
    }
}

impl Shared {
    /// See [`ExtensionHost::hooks`].
    pub(crate) fn hooks(self: &Arc<Self>) -> Arc<dyn ExtensionHooks> {
        Arc::new(BridgeHooks {
            shared: self.clone(),
        })
    }
}

/// Names that one hook event stands for; the first names the rule.
fn names(event: HookEvent) -> &'static [&'static str] {
    match event {
        HookEvent::SessionBeforeFork | HookEvent::SessionBeforeBranch => {
            &["session_before_fork", "session_before_branch"]
        }
        HookEvent::SessionStart => &[
            "session_start",
            "session_switch",
            "session_branch",
            "session_fork",
        ],
        other => single(other),
    }
}

fn single(event: HookEvent) -> &'static [&'static str] {
    // `as_str` is static; a one-element static slice per variant needs a table.
    static TABLE: std::sync::LazyLock<Vec<(HookEvent, [&'static str; 1])>> =
        std::sync::LazyLock::new(|| {
            HookEvent::ALL
                .iter()
                .map(|event| (*event, [event.as_str()]))
                .collect()
        });
    TABLE
        .iter()
        .find(|(known, _)| *known == event)
        .map_or(&[], |(_, name)| name.as_slice())
}

/// Events that also reach `onSession` of tools.
const TOOL_SESSION: [HookEvent; 3] = [
    HookEvent::SessionTree,
    HookEvent::AutoCompactionStart,
    HookEvent::AutoCompactionEnd,
];

const FORK: &[&str] = &["session_before_fork", "session_before_branch"];

impl BridgeHooks {
    /// A dispatch whose handlers are told, and given up soon, when the run is aborted.
    fn abortable(&self) -> Circumstances {
        let run = self.shared.session().and_then(|session| session.run());
        Circumstances {
            cancel: run.map(|run| run.cancel),
            ..Circumstances::in_run()
        }
    }

    async fn run<C: combine::Combiner>(
        &self,
        names: &[&str],
        combiner: &mut C,
        circumstances: Circumstances,
    ) {
        // Rows that refuse are handled by the two methods that guard something.
        let _ = self.shared.dispatch(names, combiner, circumstances).await;
    }

    fn complain(&self, name: &str, from: &str, problem: impl Into<String>) {
        self.shared.reports.text(from, name, problem);
    }

    async fn boundary(
        &self,
        name: &'static str,
        map: Map<String, Value>,
        preview: BoundaryPreview,
    ) -> BoundaryOutcome {
        let preview = |entries: &[Value]| {
            let drafts = payload::drafts(entries.to_vec(), payload::now_ms()).ok()?;
            Some(json!(preview.context(drafts).ok()?))
        };
        let mut rule = combine::Boundary::new(map, preview);
        self.run(&[name], &mut rule, Circumstances::in_run()).await;
        let Some(wish) = rule.into_outcome() else {
            return BoundaryOutcome::default();
        };
        match payload::drafts(wish.entries, payload::now_ms()) {
            Ok(entries) => BoundaryOutcome {
                entries,
                continue_run: wish.continue_run,
            },
            Err(problem) => {
                self.complain(
                    name,
                    wish.from.as_deref().unwrap_or("<boundary>"),
                    format!("{problem}; nothing was written"),
                );
                BoundaryOutcome::default()
            }
        }
    }

    async fn messages(
        &self,
        name: &'static str,
        messages: &[Arc<Message>],
    ) -> Option<Vec<Arc<Message>>> {
        let mut rule = combine::ContextMessages::new(event(json!({"messages": messages})));
        self.run(&[name], &mut rule, self.abortable()).await;
        Some(rule.into_messages()?.into_iter().map(Arc::new).collect())
    }
}

#[async_trait]
impl ExtensionHooks for BridgeHooks {
    fn subscribed(&self, event: HookEvent) -> bool {
        self.shared.registry.subscribed(names(event))
            || (TOOL_SESSION.contains(&event) && self.shared.registry.has_tool_sessions())
    }

    async fn input(&self, input: InputEvent) -> InputOutcome {
        let images = if input.images.is_empty() {
            Value::Null
        } else {
            tagged_images(&input.images)
        };
        let mut rule = combine::Input::new(payload::object(json!({
            "text": input.text,
            "images": images,
            "source": input.source.as_str(),
            "streamingBehavior": input.streaming_behavior.map(|behavior| behavior.as_str()),
        })));
        self.run(&["input"], &mut rule, Circumstances::default())
            .await;
        let unchanged = combine::Combiner::revision(&rule) == 0;
        match rule.outcome() {
            combine::InputOutcome::Handled => InputOutcome::Handled,
            combine::InputOutcome::Continue { .. } if unchanged => InputOutcome::Continue,
            combine::InputOutcome::Continue { text, images } => InputOutcome::Transform {
                text,
                images: images.unwrap_or(input.images),
            },
        }
    }

    async fn run_command(&self, name: &str, args: &str) -> Option<()> {
        self.shared.run_command(name, args).await
    }

    fn is_command(&self, name: &str) -> bool {
        self.shared
            .registry
            .with(|extensions| crate::registry::commands::find(extensions, name))
            .is_some()
    }

    async fn before_agent_start(&self, start: BeforeAgentStart) -> BeforeAgentStartOutcome {
        let images = if start.images.is_empty() {
            Value::Null
        } else {
            tagged_images(&start.images)
        };
        let start_event = payload::object(json!({
            "prompt": start.prompt,
            "images": images,
            "messageType": if start.message.is_some() { "custom" } else { "user" },
            "message": start.message,
        }));
        let mut rule = combine::AgentStart::new(start_event, start.system_prompt_options);
        self.run(&["before_agent_start"], &mut rule, self.abortable())
            .await;
        let (messages, system_prompt_options) = rule.into_outcome();
        BeforeAgentStartOutcome {
            messages,
            system_prompt_options,
        }
    }

    async fn context(&self, messages: &[Arc<Message>]) -> Option<Vec<Arc<Message>>> {
        self.messages("context", messages).await
    }

    async fn context_with_system(&self, messages: &[Arc<Message>]) -> Option<Vec<Arc<Message>>> {
        self.messages("context_with_system", messages).await
    }

    async fn before_provider_request(&self, request: &Value) -> Option<Value> {
        let mut rule = combine::ProviderPayload::new(event(json!({"payload": request})));
        self.run(&["before_provider_request"], &mut rule, self.abortable())
            .await;
        rule.into_payload()
    }

    async fn before_provider_headers(&self, headers: &Value) -> Option<Value> {
        let mut rule = combine::Headers::new(event(json!({"headers": headers})));
        let circumstances = Circumstances {
            trusted_only: true,
            ..self.abortable()
        };
        self.run(&["before_provider_headers"], &mut rule, circumstances)
            .await;
        rule.into_headers().map(Value::Object)
    }

    async fn tool_call(&self, call: ToolCallEvent) -> ToolCallOutcome {
        let mut rule = combine::ToolCall::new(payload::object(json!({
            "toolCallId": call.tool_call_id,
            "toolName": call.tool_name,
            "input": call.input,
            "parentToolCallId": call.parent_tool_call_id,
        })));
        let refused = self
            .shared
            .dispatch(&["tool_call"], &mut rule, self.abortable())
            .await;
        if let Err(refusal) = refused {
            let block = ToolBlock {
                reason: Some(refusal.message),
                terminate: false,
            };
            return ToolCallOutcome {
                input: None,
                block: Some(block),
            };
        }
        let (input, result) = rule.into_outcome();
        let block = result
            .filter(|result| result.get("block").is_some_and(truthy))
            .map(|result| ToolBlock {
                reason: match result.get("reason") {
                    Some(Value::String(reason)) if !reason.is_empty() => Some(reason.clone()),
                    _ => None,
                },
                terminate: result.get("terminate").is_some_and(truthy),
            });
        ToolCallOutcome { input, block }
    }

    async fn tool_result(&self, result: ToolResultEvent) -> ToolResultPatch {
        let mut map = payload::object(json!({
            "toolCallId": result.tool_call_id,
            "toolName": result.tool_name,
            "input": result.input,
            "content": result.content,
            "details": result.details,
            "isError": result.is_error,
            "structuredContent": result.structured_content,
            "usage": result.usage,
            "parentToolCallId": result.parent_tool_call_id,
        }));
        map.entry("input").or_insert_with(|| json!({}));
        let mut rule = combine::ToolResult::new(map);
        self.run(&["tool_result"], &mut rule, self.abortable())
            .await;
        rule.into_changes().unwrap_or_default()
    }

    async fn message_end(&self, message: &Arc<Message>) -> Option<Message> {
        self.shared.updates_delivered().await;
        let mut rule = combine::MessageEnd::new(event(json!({"message": &**message})));
        self.run(&["message_end"], &mut rule, Circumstances::in_run())
            .await;
        rule.into_message()
    }

    async fn turn_end(&self, turn: TurnEndEvent) -> BoundaryOutcome {
        let map = payload::object(json!({
            "turnIndex": turn.turn_index,
            "message": &*turn.message,
            "toolResults": turn.tool_results,
            "messageEntryId": turn.message_entry_id,
            "toolResultEntryIds": turn.tool_result_entry_ids,
            "context": turn.context,
        }));
        self.boundary("turn_end", map, turn.preview).await
    }

    async fn agent_before_settle(&self, settle: BeforeSettleEvent) -> BoundaryOutcome {
        let map = event(json!({"outcome": settle.outcome.as_str(), "context": settle.context}));
        self.boundary("agent_before_settle", map, settle.preview)
            .await
    }

    async fn user_bash(&self, bash: UserBashEvent) -> Result<UserBashOutcome, HookFailure> {
        let map = event(json!({
            "command": bash.command,
            "excludeFromContext": bash.exclude_from_context,
            "cwd": bash.cwd,
        }));
        let shared = self.shared.clone();
        let mut rule = combine::FirstResult::new(
            map,
            &["result", "operations"],
            move |by: combine::Answerer<'_>, result| {
                let read = crate::tools::bash::outcome(&shared, by.path, &result);
                match read.map_err(|problem| format!("Invalid user_bash handler result: {problem}"))
                {
                    // Where a failure refuses the command, so does a result that means nothing.
                    Err(message) if by.profile == Profile::Pi => {
                        shared.reports.text(by.path, "user_bash", message.clone());
                        Ok(Err(HookFailure { message }))
                    }
                    other => other.map(Ok),
                }
            },
        );
        if let Err(refusal) = self
            .shared
            .dispatch(&["user_bash"], &mut rule, Circumstances::default())
            .await
        {
            return Err(HookFailure {
                message: refusal.message,
            });
        }
        rule.into_result().unwrap_or(Ok(UserBashOutcome::Run))
    }

    async fn session_before_switch(&self, switch: BeforeSwitchEvent) -> bool {
        let map = payload::object(json!({
            "reason": switch.reason.as_str(),
            "targetSessionFile": switch.target_session_file,
        }));
        let mut rule = combine::LastResult::new(map, |_, result| Ok(cancelled(&result)));
        self.run(
            &["session_before_switch"],
            &mut rule,
            Circumstances::in_run(),
        )
        .await;
        rule.into_result().unwrap_or_default()
    }

    async fn session_before_fork(&self, fork: BeforeForkEvent) -> bool {
        let whole = fork.position == ForkPosition::At;
        self.shared.last_fork_at.store(whole, Ordering::Release);
        let map = event(json!({"entryId": fork.entry_id, "position": fork.position.as_str()}));
        let mut rule = combine::LastResult::new(map, |_, result| {
            let cancel = cancelled(&result);
            if !cancel && result.get("skipConversationRestore").is_some_and(truthy) {
                return Err("\"skipConversationRestore\" is not supported: the conversation always is that of the new session's file".into());
            }
            Ok(cancel)
        });
        let names = if whole { &FORK[..1] } else { FORK };
        self.run(names, &mut rule, Circumstances::in_run()).await;
        let cancel = rule.into_result().unwrap_or_default();
        if cancel || !whole {
            return cancel;
        }
        // To xcsh a copy of the whole session is a switch, which `session_switch` with the same reason ends.
        let mut rule = combine::LastResult::new(event(json!({"reason": "fork"})), |_, result| {
            Ok(cancelled(&result))
        });
        let circumstances = Circumstances {
            only: Some(Profile::Xcsh),
            ..Circumstances::in_run()
        };
        self.run(&["session_before_switch"], &mut rule, circumstances)
            .await;
        rule.into_result().unwrap_or_default()
    }

    async fn session_before_compact(&self, compact: BeforeCompactEvent) -> BeforeCompactOutcome {
        let map = payload::object(json!({
            "preparation": payload::preparation(&compact.preparation),
            "branchEntries": compact.branch_entries.iter().map(|entry| payload::value(&**entry)).collect::<Vec<_>>(),
            "customInstructions": compact.custom_instructions,
            "reason": compact.reason,
            "willRetry": compact.will_retry,
        }));
        let tokens_before = compact.preparation.tokens_before;
        let mut rule = combine::LastResult::new(map, |_, result| {
            let given = result.get("compaction").filter(|value| truthy(value));
            match given {
                _ if cancelled(&result) => Ok(BeforeCompactOutcome::Cancel),
                None => Ok(BeforeCompactOutcome::Continue),
                Some(given) => payload::supplied_compaction(given, tokens_before)
                    .map(BeforeCompactOutcome::Supply),
            }
        });
        let circumstances = Circumstances {
            cancel: Some(compact.signal),
            ..Circumstances::in_run()
        };
        self.run(&["session_before_compact"], &mut rule, circumstances)
            .await;
        rule.into_result().unwrap_or_default()
    }

    async fn session_compacting(&self, compacting: CompactingEvent) -> CompactingOutcome {
        let map =
            event(json!({"sessionId": compacting.session_id, "messages": compacting.messages}));
        let mut rule =
            combine::LastResult::new(map, |_, result| payload::compacting_outcome(result));
        self.run(&["session.compacting"], &mut rule, Circumstances::in_run())
            .await;
        rule.into_result().unwrap_or_default()
    }

    async fn session_before_tree(&self, tree: BeforeTreeEvent) -> BeforeTreeOutcome {
        let map = payload::object(json!({
            "preparation": {
                "targetId": tree.target_id,
                "oldLeafId": tree.old_leaf_id,
                "commonAncestorId": tree.common_ancestor_id,
                "entriesToSummarize": tree.entries_to_summarize.iter().map(|entry| payload::value(&**entry)).collect::<Vec<_>>(),
                "userWantsSummary": tree.user_wants_summary,
            },
            "customInstructions": tree.custom_instructions,
            "replaceInstructions": tree.replace_instructions,
            "label": tree.label,
        }));
        let mut rule = combine::LastResult::new(map, |_, result| payload::tree_outcome(&result));
        let circumstances = Circumstances {
            cancel: Some(tree.signal),
            ..Circumstances::in_run()
        };
        self.run(&["session_before_tree"], &mut rule, circumstances)
            .await;
        rule.into_result().unwrap_or_default()
    }

    async fn resources_discover(
        &self,
        cwd: &Path,
        reason: SessionStartReason,
    ) -> DiscoveredResources {
        let word = if reason == SessionStartReason::Reload {
            "reload"
        } else {
            "startup"
        };
        let mut rule = combine::Resources::new(event(json!({"cwd": cwd, "reason": word})));
        self.run(&["resources_discover"], &mut rule, Circumstances::default())
            .await;
        rule.found
    }

    async fn notify(&self, notification: Notification) {
        self.shared.notified(notification).await;
    }

    async fn message_update(&self, event: &Arc<AgentEvent>) {
        self.shared.queue_update(event).await;
    }
}

/// Images as blocks, with their `type`.
fn tagged_images(images: &[ImageBlock]) -> Value {
    let blocks = images.iter().map(|image| {
        let mut block = payload::value(image);
        if let Some(map) = block.as_object_mut() {
            map.entry("type").or_insert(json!("image"));
        }
        block
    });
    Value::Array(blocks.collect())
}
