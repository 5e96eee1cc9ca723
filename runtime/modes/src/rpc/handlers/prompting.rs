//! Prompts, queues and abort (`spec/rpc.md` §3.1).

use pier_agent::agent_session::{Disposition, PromptRequest, SessionError};
use pier_agent::hooks::InputSource;
use serde::Serialize;
use serde_json::{Value, json};

use super::Outcome;
use crate::diagnostics::with_place;
use crate::rpc::command::{Input, StreamingBehavior};
use crate::rpc::response;
use crate::rpc::server::{Context, Reply, Server};

#[derive(Serialize)]
struct Accepted {
    disposition: Disposition,
}

impl Server {
    pub(super) async fn prompt(
        &self,
        context: &mut Context,
        input: Input,
        behavior: Option<StreamingBehavior>,
        locale: Option<String>,
    ) -> Outcome {
        if let Some(locale) = locale {
            self.apply_locale("prompt", &locale)?;
        }
        if self.rules.early_prompt_ack {
            self.write(response::success::<Value>(
                context.id.as_ref(),
                &context.command,
                None,
            ));
        }
        let request = PromptRequest {
            images: input.images,
            streaming_behavior: behavior.map(StreamingBehavior::into_agent),
            ..PromptRequest::new(input.message, InputSource::Rpc)
        };
        let acknowledged = self.rules.early_prompt_ack;
        match self.extension_command(&request.text) {
            Some(name) => {
                self.run_command(context, &name, request, acknowledged)
                    .await
            }
            None => self.start_prompt(context, request, acknowledged).await,
        }
    }

    /// Name of the extension command that a text invokes: from the slash to the first space.
    fn extension_command(&self, text: &str) -> Option<String> {
        let name = text.strip_prefix('/')?.split(' ').next()?;
        self.session
            .hooks()
            .is_command(name)
            .then(|| name.to_owned())
    }

    async fn run_command(
        &self,
        context: &mut Context,
        name: &str,
        request: PromptRequest,
        acknowledged: bool,
    ) -> Outcome {
        let extension = self
            .extensions
            .commands()
            .into_iter()
            .find(|command| command.name == name && command.source == "extension")
            .map(|command| command.source_info.path);
        let command = self.requests.enter_command(name, extension, &context.id);
        let disposition = self
            .session
            .prompt(request)
            .await
            .map_err(|error| error.to_string())?;
        if let Some(failure) = command.failure()
            && self.rules.failed_commands_fail
        {
            return Ok(Reply::Failed {
                error: with_place(&failure.error, failure.location.as_ref()),
                data: json!({ "disposition": disposition }),
            });
        }
        if acknowledged {
            return Ok(Reply::Written);
        }
        Reply::data(&Accepted { disposition })
    }

    /// `acknowledged`: the response has been written; only a failure is still to be told.
    async fn start_prompt(
        &self,
        context: &mut Context,
        request: PromptRequest,
        acknowledged: bool,
    ) -> Outcome {
        let answer = |outcome: &Result<Disposition, SessionError>| {
            let Ok(disposition) = *outcome else { return };
            if disposition == Disposition::Started {
                self.requests
                    .set_run(context.id.clone(), context.active.as_ref());
            }
            if !acknowledged {
                let (id, data) = (context.id.as_ref(), Accepted { disposition });
                self.write(response::success(id, &context.command, Some(data)));
            }
        };
        let disposition = self
            .events
            .answered(self.session.prompt(request), answer)
            .await
            .map_err(|error| error.to_string())?;
        if disposition == Disposition::Started {
            // A prompt counts as being handled until its run settled (`spec/rpc.md` §9).
            let mut active = context.active.take();
            if let Some(active) = &mut active {
                active.answered();
            }
            let (session, requests) = (self.session.clone(), std::sync::Arc::clone(&self.requests));
            let id = context.id.clone();
            tokio::spawn(async move {
                session.run_settled().await;
                requests.clear_run(&id);
                drop(active);
            });
        }
        Ok(Reply::Written)
    }

    pub(super) async fn steer(&self, input: Input) -> Outcome {
        let disposition = self
            .session
            .steer(&input.message, input.images)
            .await
            .map_err(|error| error.to_string())?;
        Reply::data(&Accepted { disposition })
    }

    pub(super) async fn follow_up(&self, input: Input) -> Outcome {
        let disposition = self
            .session
            .follow_up(&input.message, input.images)
            .await
            .map_err(|error| error.to_string())?;
        Reply::data(&Accepted { disposition })
    }

    /// Dialogs are settled first: a tool that waits in one could not notice the abort.
    pub(super) async fn abort(&self) -> Outcome {
        let _no_dialogs = self.ui.refuse();
        self.session.abort().await;
        Ok(Reply::Done)
    }

    pub(super) async fn clear_queue(&self) -> Outcome {
        Reply::data(&self.session.clear_queue().await)
    }

    /// Acknowledged right after the abort; a prompt that is then refused is a second response. Of several at once each
    /// aborts those before it, so the last one wins.
    pub(super) async fn abort_and_prompt(&self, context: &mut Context, input: Input) -> Outcome {
        // The place in the queue is taken first; the abort also reaches one that is being admitted.
        let (turn, aborted) = tokio::join!(self.replacing_prompt.lock(), self.abort());
        aborted?;
        self.abort().await?;
        self.write(response::success::<Value>(
            context.id.as_ref(),
            &context.command,
            None,
        ));
        let request = PromptRequest {
            images: input.images,
            ..PromptRequest::new(input.message, InputSource::Rpc)
        };
        match self.extension_command(&request.text) {
            Some(name) => {
                // It may run for long, and is no run that a later one has to end.
                drop(turn);
                self.run_command(context, &name, request, true).await
            }
            None => self.start_prompt(context, request, true).await,
        }
    }
}
