//! Queue modes, compaction and retry (`spec/rpc.md` §3.4).

use serde_json::Value;

use super::Outcome;
use crate::rpc::server::{Reply, Server};

impl Server {
    /// Changes a user setting. In memory it changes even when the file cannot be written; the
    /// client then learns why it will not last.
    pub(super) fn set_setting(&self, path: &[&str], value: impl Into<Value>) -> Outcome {
        self.session
            .settings()
            .set_user(path, Some(value.into()))
            .map(|()| Reply::Done)
            .map_err(|error| error.to_string())
    }

    pub(super) async fn compact(&self, custom_instructions: Option<String>) -> Outcome {
        let result = self
            .session
            .compact(custom_instructions)
            .await
            .map_err(|error| error.to_string())?;
        Reply::data(&result)
    }

    pub(super) fn abort_retry(&self) -> Outcome {
        self.session.abort_retry();
        Ok(Reply::Done)
    }
}
