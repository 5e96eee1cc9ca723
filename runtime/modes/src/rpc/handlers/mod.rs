//! What each command does. One file a group of commands, as in `spec/rpc.md` §3.

mod bash;
mod models;
mod prompting;
mod sessions;
mod settings;
mod state;
mod xcsh;

use super::command::Command;
use super::server::{Context, Reply, Server};

/// What a handler gives: a reply, or the text of a failure.
type Outcome = Result<Reply, String>;

impl Server {
    pub(super) async fn handle(&self, command: Command, context: &mut Context) -> Outcome {
        match command {
            Command::Prompt {
                input,
                streaming_behavior,
                locale,
            } => {
                self.prompt(context, input, streaming_behavior, locale)
                    .await
            }
            Command::Steer(input) => self.steer(input).await,
            Command::FollowUp(input) => self.follow_up(input).await,
            Command::Abort => self.abort().await,
            Command::ClearQueue => self.clear_queue().await,
            Command::AbortAndPrompt(input) => self.abort_and_prompt(context, input).await,
            Command::NewSession { parent_session } => self.new_session(parent_session).await,
            Command::GetState => self.state(),
            Command::GetMessages => self.messages(),
            Command::GetLastAssistantText => self.last_assistant_text(),
            Command::GetSessionStats => self.session_stats(),
            Command::GetCommands => self.commands(),
            Command::SetModel { provider, model_id } => self.set_model(&provider, &model_id).await,
            Command::CycleModel => self.cycle_model().await,
            Command::GetAvailableModels => self.available_models(),
            Command::SetThinkingLevel(level) => self.set_thinking_level(level).await,
            Command::CycleThinkingLevel => self.cycle_thinking_level().await,
            Command::GetAvailableThinkingLevels => self.available_thinking_levels(),
            Command::SetSteeringMode(mode) => self.set_setting(&["steeringMode"], mode.as_str()),
            Command::SetFollowUpMode(mode) => self.set_setting(&["followUpMode"], mode.as_str()),
            Command::SetInterruptMode(mode) => self.set_setting(&["interruptMode"], mode.as_str()),
            Command::Compact {
                custom_instructions,
            } => self.compact(custom_instructions).await,
            Command::SetAutoCompaction(enabled) => {
                self.set_setting(&["compaction", "enabled"], enabled)
            }
            Command::SetAutoRetry(enabled) => self.set_setting(&["retry", "enabled"], enabled),
            Command::AbortRetry => self.abort_retry(),
            Command::Bash {
                command,
                exclude_from_context,
            } => self.bash(context, command, exclude_from_context).await,
            Command::AbortBash => self.abort_bash(),
            Command::ExportHtml { output_path } => self.export_html(output_path).await,
            Command::SwitchSession { session_path } => self.switch_session(&session_path).await,
            Command::Fork { entry_id } => self.fork(entry_id).await,
            Command::Clone => self.clone_session().await,
            Command::GetForkMessages => self.fork_messages(),
            Command::GetEntries { since } => self.entries(since.as_deref()),
            Command::GetTree => self.tree(),
            Command::SetSessionName { name } => self.set_session_name(&name).await,
            Command::SetLocale { locale } => self.set_locale(&locale),
            Command::SetTodos { phases } => self.set_todos(phases),
            Command::SetHostTools { tools } => self.set_host_tools(&tools),
            Command::GetIntegrations => self.integrations().await,
        }
    }
}
