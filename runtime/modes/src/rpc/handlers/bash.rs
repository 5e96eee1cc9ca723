//! Shell commands of the person at the client (`spec/rpc.md` §3.5).

use pier_agent::agent_session::BashRequest;

use super::Outcome;
use crate::rpc::server::{Context, Reply, Server};

impl Server {
    pub(super) async fn bash(
        &self,
        context: &Context,
        command: String,
        exclude_from_context: bool,
    ) -> Outcome {
        let request = BashRequest {
            command,
            exclude_from_context,
            id: context.id.as_ref().map(crate::rpc::id::Id::to_value),
        };
        let result = self
            .session
            .bash(request)
            .await
            .map_err(|error| error.to_string())?;
        Reply::data(&result)
    }

    pub(super) fn abort_bash(&self) -> Outcome {
        self.session.abort_bash();
        Ok(Reply::Done)
    }
}
