//! Host calls about sessions that an extension started: `child.*` (`docs/bridge-protocol.md`).

use std::sync::Arc;

use pier_agent::agent_session::{
    BashRequest, Disposition, NavigateOptions, PromptRequest, ScopedModel, SessionError,
};
use pier_agent::hooks::{InputSource, SessionStartReason, StreamingBehavior};
use pier_agent::provider::SubAgent;
use pier_agent::tool::Tool;
use pier_protocol::message::{Block, ImageBlock};
use serde_json::{Value, json};

use super::{Answer, Args, Caller, messages, state};
use crate::calls::Purpose;
use crate::children::events::Pump;
use crate::children::tool::CustomTool;
use crate::children::{Child, ChildRequest, ChildResources, Inherited, next_id};
use crate::discovery::Profile;
use crate::dispatch::payload::value;
use crate::host::Inline;
use crate::isolate::HostCallError;

fn failed(error: SessionError) -> HostCallError {
    HostCallError::new(error.to_string())
}

fn problem(error: String) -> HostCallError {
    HostCallError::new(error)
}

fn child(caller: &Caller, args: &Args<'_>) -> Result<Arc<Child>, HostCallError> {
    caller
        .shared
        .children
        .get(caller.slot.id, args.number("session")?)
}

/// Reads a value of the request, with an error that names the member.
fn read<T: serde::de::DeserializeOwned>(what: &str, from: Value) -> Result<T, HostCallError> {
    serde_json::from_value(from)
        .map_err(|error| HostCallError::arguments(format!("{what}: {error}")))
}

/// Makes a session.
pub(super) async fn create(caller: Caller, mut args: Args<'static>) -> Answer {
    caller.require_trust("createAgentSession")?;
    let call = caller.call(&args)?;
    let ext = caller.ext_of(call.as_deref());
    let shared = &caller.shared;
    let (maker, depth) = shared.children.maker(caller.slot.id)?;
    let mut request: ChildRequest = read("createAgentSession", args.take("request"))?;
    let id = next_id();
    let custom_tools = std::mem::take(&mut request.custom_tools)
        .into_iter()
        .map(|tool| Arc::new(CustomTool::new(shared, &caller.slot, ext, id, tool)) as Arc<dyn Tool>)
        .collect();
    let inline = request.inline.take().map(|given| {
        let profile = shared.registry.get(ext).map(|info| info.profile);
        let profile = profile.unwrap_or(Profile::Pi);
        Inline::new(&caller.slot, profile, given.token, given.count)
    });
    let cwd = shared.cwd();
    let same_project = request.cwd.as_ref().is_none_or(|wanted| *wanted == cwd);
    let reports = Arc::downgrade(shared);
    let agent = SubAgent {
        extension: caller.path(ext),
        depth,
        parent_session_id: shared.session().map(|session| session.session_id()),
        parent_tool_call_id: call.as_ref().and_then(|call| match &call.purpose {
            Purpose::Tool { tool_call_id, .. } => Some(tool_call_id.clone()),
            _ => None,
        }),
    };
    let inherited = Inherited {
        providers: Arc::new(shared.options.providers.inherit(agent, shared.hooks())),
        custom_tools,
        inline,
        flags: shared.flag_values.read().clone(),
        // Another project's files were never decided about.
        trusted: same_project && shared.trusted.load(std::sync::atomic::Ordering::Acquire),
        cwd,
        depth,
        reports: Arc::new(move |report| {
            if let Some(shared) = reports.upgrade() {
                shared.reports.send(report);
            }
        }),
    };
    let made = maker.make(request, inherited).await.map_err(problem)?;
    let mut answer = json!({
        "session": id,
        "ext": ext,
        "extensions": made.loaded,
        "errors": made.failures.iter().map(|failure| json!({"path": failure.extension_path, "error": failure.error})).collect::<Vec<_>>(),
    });
    if !made.warnings.is_empty() {
        answer["modelFallbackMessage"] = json!(made.warnings.join("\n"));
    }
    shared.children.add(id, caller.slot.id, ext, made);
    if caller.slot.has_ended() {
        // The isolate ended while the session was being made.
        shared.children.end_of(caller.slot.id).await;
    }
    Ok(Some(answer))
}

/// What a session would be told.
pub(super) async fn resources(caller: Caller, mut args: Args<'static>) -> Answer {
    caller.require_trust("reading resources")?;
    let (maker, _) = caller.shared.children.maker(caller.slot.id)?;
    let resources: ChildResources = read("resources", args.take("resources"))?;
    let own = caller.shared.cwd();
    let cwd = own.join(args.optional_text("cwd")?.unwrap_or_default());
    let trusted = cwd == own
        && caller
            .shared
            .trusted
            .load(std::sync::atomic::Ordering::Acquire);
    let reading =
        tokio::task::spawn_blocking(move || maker.read_resources(cwd, trusted, &resources));
    match reading.await {
        Ok(answer) => Ok(Some(answer)),
        Err(error) => Err(HostCallError::new(error.to_string())),
    }
}

/// State that getters read.
pub(super) fn state(caller: &Caller, args: Args<'_>) -> Answer {
    let child = child(caller, &args)?;
    let session = &child.session;
    let mut map = child.port.state();
    let queued = session.queued_texts();
    let settings = session.settings().get();
    for (name, value) in [
        ("isCompacting", json!(session.is_compacting())),
        ("steering", json!(queued.steering)),
        ("followUp", json!(queued.follow_up)),
        ("steeringMode", json!(settings.steering_mode.as_str())),
        ("followUpMode", json!(settings.follow_up_mode.as_str())),
        ("autoCompaction", json!(settings.compaction.enabled)),
        (
            "thinkingLevels",
            json!(
                session
                    .available_thinking_levels()
                    .iter()
                    .map(|level| level.as_str())
                    .collect::<Vec<_>>()
            ),
        ),
    ] {
        map.insert(name.into(), value);
    }
    Ok(Some(Value::Object(map)))
}

/// `session.sync` of that session, as text.
pub(super) fn sync(caller: &Caller, args: &Args<'_>) -> Result<String, HostCallError> {
    let number = |name| args.optional_number(name).unwrap_or_default().unwrap_or(0);
    child(caller, args)?
        .port
        .changes_since(number("epoch"), number("version"))
        .map_err(problem)
}

/// Things that are looked up on demand.
pub(super) fn get(caller: &Caller, args: Args<'_>) -> Answer {
    let child = child(caller, &args)?;
    let session = &child.session;
    Ok(Some(match args.text("what")? {
        "version" => json!(child.port.state_version()),
        "messages" => value(&session.messages()),
        "tools" => state::tool_infos(&session.tools()),
        "stats" => value(&session.stats()),
        "settings" => child.port.settings(),
        "commands" => Value::Array(child.port.prompt_commands()),
        "lastAssistantText" => json!(session.last_assistant_text()),
        other => {
            return Err(HostCallError::arguments(format!(
                "child.get: there is no \"{other}\""
            )));
        }
    }))
}

/// Effects that do not wait.
pub(super) fn act(caller: &Caller, mut args: Args<'_>) -> Answer {
    let child = child(caller, &args)?;
    let session = &child.session;
    match args.text("op")? {
        "subscribe" => {
            let handle = args.number("handle")?;
            let pump = Pump::start(session, caller.clone(), child.ext, handle);
            *child.pump.lock() = Some(pump);
        }
        "unsubscribe" => drop(child.pump.lock().take()),
        "abort" => session.request_abort(),
        "abortRetry" => session.abort_retry(),
        "abortBash" => session.abort_bash(),
        "setActiveTools" => session.set_active_tools(&args.texts("names")?),
        "setThinkingLevel" => {
            let level = read("thinking level", args.take("level"))?;
            session.set_thinking_level_now(level);
        }
        "setSessionName" => session
            .set_session_name_now(args.text("name")?)
            .map_err(failed)?,
        "setScopedModels" => {
            let scoped: Vec<crate::children::ChildScoped> =
                read("scopedModels", args.take("models"))?;
            session.set_scoped_models(
                scoped
                    .into_iter()
                    .map(|scoped| ScopedModel {
                        model: Arc::new(scoped.model),
                        thinking_level: scoped.thinking_level,
                    })
                    .collect(),
            );
        }
        "append" => {
            let entry = Value::Object(args.take_object("entry")?);
            let id = child.port.append_raw(entry).map_err(problem)?;
            return Ok(Some(json!({"id": id})));
        }
        "sendMessage" => {
            let (message, options) = messages::custom_message(&mut args, caller.path(child.ext))?;
            session.send_custom_message(message, options);
        }
        "sendUserMessage" => {
            let (content, options) = messages::user_message(&mut args, caller.path(child.ext))?;
            session.send_user_message(content, options);
        }
        other => {
            return Err(HostCallError::arguments(format!(
                "child.act: there is no \"{other}\""
            )));
        }
    }
    Ok(None)
}

/// Effects that are waited for. When the call that asked is aborted or given up, the session's run is aborted.
pub(super) async fn run(caller: Caller, args: Args<'static>) -> Answer {
    let child = child(&caller, &args)?;
    let call = caller.call(&args)?;
    let op = operation(&caller, &child, args);
    tokio::pin!(op);
    let answer = match call {
        None => op.await,
        Some(call) => tokio::select! {
            answer = &mut op => answer,
            () = call.cancel.cancelled() => {
                child.session.request_abort();
                op.await
            }
            () = call.gone.cancelled() => {
                child.session.request_abort();
                return Err(HostCallError::new("The call that waited for this session was given up."));
            }
        },
    };
    child.flush().await;
    answer
}

fn images(args: &mut Args<'_>) -> Result<Vec<ImageBlock>, HostCallError> {
    let blocks: Vec<Block> = match args.take("images") {
        Value::Null => Vec::new(),
        given => read("images", given)?,
    };
    blocks
        .into_iter()
        .map(|block| match block {
            Block::Image(image) => Ok(image),
            _ => Err(HostCallError::arguments(
                "images: every item must be an image block",
            )),
        })
        .collect()
}

async fn prompt(child: &Child, mut args: Args<'static>) -> Answer {
    let request = PromptRequest {
        images: images(&mut args)?,
        streaming_behavior: match args.optional_text("streamingBehavior")? {
            Some("steer") => Some(StreamingBehavior::Steer),
            Some("followUp") => Some(StreamingBehavior::FollowUp),
            _ => None,
        },
        expand: !args.flag("literal")?,
        ..PromptRequest::new(args.text("text")?, InputSource::Extension)
    };
    let disposition = child.session.prompt(request).await.map_err(failed)?;
    if disposition == Disposition::Started {
        child.session.run_settled().await;
    }
    Ok(Some(value(&disposition)))
}

async fn operation(caller: &Caller, child: &Child, mut args: Args<'static>) -> Answer {
    let session = &child.session;
    let op = args.text("op")?.to_string();
    let answer = match op.as_str() {
        "prompt" => return prompt(child, args).await,
        "steer" | "followUp" => {
            let images = images(&mut args)?;
            let text = args.text("text")?;
            let queued = match op.as_str() {
                "steer" => session.steer(text, images).await,
                _ => session.follow_up(text, images).await,
            };
            value(&queued.map_err(failed)?)
        }
        "abort" => {
            session.abort().await;
            Value::Null
        }
        "idle" => {
            session.run_settled().await;
            Value::Null
        }
        "clearQueue" => value(&session.clear_queue().await),
        "setModel" => {
            let (provider, id) = (args.text("provider")?, args.text("id")?);
            session.set_model(provider, id).await.map_err(failed)?;
            Value::Null
        }
        "cycleModel" => value(&session.cycle_model().await),
        "cycleThinkingLevel" => {
            json!(
                session
                    .cycle_thinking_level()
                    .await
                    .map(|level| level.as_str())
            )
        }
        "compact" => {
            let instructions = args.optional_text("customInstructions")?.map(str::to_owned);
            value(&session.compact(instructions).await.map_err(failed)?)
        }
        "bash" => {
            let request = BashRequest {
                command: args.text("command")?.to_owned(),
                exclude_from_context: args.flag("excludeFromContext")?,
                id: None,
            };
            value(&session.bash(request).await.map_err(failed)?)
        }
        "navigate" => {
            let options = NavigateOptions {
                summarize: args.flag("summarize")?,
                custom_instructions: args.optional_text("customInstructions")?.map(str::to_owned),
                replace_instructions: args.flag("replaceInstructions")?,
                label: args.optional_text("label")?.map(str::to_owned),
            };
            let target = args.text("targetId")?;
            let outcome = session.navigate(target, options).await.map_err(failed)?;
            json!({"cancelled": outcome.cancelled, "editorText": outcome.editor_text})
        }
        "start" => {
            session.start(SessionStartReason::Startup).await;
            Value::Null
        }
        "reload" => {
            session.reload().await.map_err(failed)?;
            Value::Null
        }
        "dispose" => {
            caller
                .shared
                .children
                .dispose(caller.slot.id, child.id)
                .await;
            Value::Null
        }
        other => {
            return Err(HostCallError::arguments(format!(
                "child.run: there is no \"{other}\""
            )));
        }
    };
    Ok(Some(answer))
}
