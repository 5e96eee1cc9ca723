//! Operations of a built-in tool that live in an isolate (`createReadTool(cwd, { operations })`, `spec/sdk-exports.md`
//! §2.1). The tool's rules stay here; only the look at files, or the command, goes to the extension.

use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pier_agent::tools::bash::{SpawnContext, SpawnHook};
use pier_agent::tools::operations::{
    ByteStream, EditOperations, Environment, FindOperations, GlobOptions, GrepOperations,
    LsOperations, OpError, ReadOperations, WriteOperations,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;

use crate::calls::Purpose;
use crate::host_calls::Caller;
use crate::report::describe;
use crate::wire::ExtId;

/// Bytes of a streamed file that wait here for the tool.
const STREAM_BUFFER: usize = 256 * 1024;

/// Functions of one isolate behind one handle: `([name, ...arguments]) => {value} | {error: {message, code?}}`.
#[derive(Clone)]
pub(crate) struct RemoteOperations {
    caller: Caller,
    ext: ExtId,
    handle: u64,
    /// Optional functions that are there.
    offers: Arc<[String]>,
}

impl RemoteOperations {
    pub(crate) fn new(caller: Caller, ext: ExtId, handle: u64, offers: Vec<String>) -> Self {
        Self {
            caller,
            ext,
            handle,
            offers: offers.into(),
        }
    }

    fn offers(&self, name: &str) -> bool {
        self.offers.iter().any(|offered| offered == name)
    }

    async fn call<T: DeserializeOwned>(&self, name: &str, arguments: Value) -> Result<T, OpError> {
        let mut list = vec![json!(name)];
        if let Value::Array(arguments) = arguments {
            list.extend(arguments);
        }
        let answer = self
            .caller
            .callback(
                self.ext,
                name,
                self.handle,
                Value::Array(list),
                Purpose::Other,
            )
            .await
            .map_err(|error| OpError::other(describe(name, &error)))?;
        let mut answer = match answer {
            Value::Object(answer) => answer,
            _ => Map::new(),
        };
        if let Some(error) = answer.get("error") {
            let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
            return Err(OpError {
                code: text("code"),
                message: text("message").unwrap_or_default(),
            });
        }
        let value = answer.remove("value").unwrap_or_default();
        serde_json::from_value(value)
            .map_err(|error| OpError::other(format!("{name} gave a wrong value: {error}")))
    }

    async fn bytes(&self, path: &Path) -> Result<Vec<u8>, OpError> {
        decoded(
            "readFile",
            &self.call::<String>("readFile", json!([path])).await?,
        )
    }

    async fn may(&self, name: &str, path: &Path) -> Result<(), OpError> {
        self.call::<Value>(name, json!([path])).await.map(drop)
    }

    async fn store(&self, path: &Path, content: &str) -> Result<(), OpError> {
        self.call::<Value>("writeFile", json!([path, content]))
            .await
            .map(drop)
    }

    async fn is(&self, name: &str, path: &Path) -> Result<bool, OpError> {
        self.call(name, json!([path])).await
    }
}

fn decoded(name: &str, text: &str) -> Result<Vec<u8>, OpError> {
    STANDARD
        .decode(text)
        .map_err(|error| OpError::other(format!("{name} gave a wrong value: {error}")))
}

#[async_trait]
impl ReadOperations for RemoteOperations {
    async fn read_file(&self, path: &Path) -> Result<Vec<u8>, OpError> {
        self.bytes(path).await
    }

    async fn access(&self, path: &Path) -> Result<(), OpError> {
        self.may("access", path).await
    }

    async fn detect_image_mime_type(&self, path: &Path) -> Result<Option<Option<String>>, OpError> {
        if !self.offers("detectImageMimeType") {
            return Ok(None);
        }
        self.call("detectImageMimeType", json!([path]))
            .await
            .map(Some)
    }

    async fn create_read_stream(&self, path: &Path) -> Result<Option<ByteStream>, OpError> {
        if !self.offers("createReadStream") {
            return Ok(None);
        }
        let stream: u64 = self.call("openStream", json!([path])).await?;
        let (reader, mut writer) = tokio::io::duplex(STREAM_BUFFER);
        let failed = Arc::new(parking_lot::Mutex::new(None));
        let (remote, problem) = (self.clone(), failed.clone());
        self.caller.shared.runtime.spawn(async move {
            let outcome = async {
                loop {
                    let chunk: Option<String> = remote.call("readStream", json!([stream])).await?;
                    let Some(chunk) = chunk else { return Ok(()) };
                    let chunk = decoded("createReadStream", &chunk)?;
                    // The tool has seen enough once it drops its end.
                    if writer.write_all(&chunk).await.is_err() {
                        return Ok(());
                    }
                }
            }
            .await;
            // Set before the end of the stream shows.
            *problem.lock() = outcome.err();
            drop(writer);
            let _ = remote.call::<Value>("closeStream", json!([stream])).await;
        });
        Ok(Some(Box::new(Checked { reader, failed })))
    }
}

/// A stream whose end is an error when the sender failed.
struct Checked {
    reader: tokio::io::DuplexStream,
    failed: Arc<parking_lot::Mutex<Option<OpError>>>,
}

impl tokio::io::AsyncRead for Checked {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = std::pin::Pin::new(&mut self.reader).poll_read(context, buffer);
        if polled.is_ready()
            && buffer.filled().len() == before
            && let Some(error) = self.failed.lock().take()
        {
            return std::task::Poll::Ready(Err(io::Error::other(error.message)));
        }
        polled
    }
}

#[async_trait]
impl WriteOperations for RemoteOperations {
    async fn write_file(&self, path: &Path, content: &str) -> Result<(), OpError> {
        self.store(path, content).await
    }

    async fn mkdir(&self, path: &Path) -> Result<(), OpError> {
        self.may("mkdir", path).await
    }
}

#[async_trait]
impl EditOperations for RemoteOperations {
    async fn read_file(&self, path: &Path) -> Result<Vec<u8>, OpError> {
        self.bytes(path).await
    }

    async fn write_file(&self, path: &Path, content: &str) -> Result<(), OpError> {
        self.store(path, content).await
    }

    async fn access(&self, path: &Path) -> Result<(), OpError> {
        self.may("access", path).await
    }
}

#[async_trait]
impl FindOperations for RemoteOperations {
    async fn exists(&self, path: &Path) -> Result<bool, OpError> {
        self.is("exists", path).await
    }

    async fn glob(
        &self,
        pattern: &str,
        cwd: &Path,
        options: GlobOptions,
    ) -> Result<Vec<String>, OpError> {
        let wanted = json!({"ignore": options.ignore, "limit": options.limit});
        self.call("glob", json!([pattern, cwd, wanted])).await
    }
}

#[async_trait]
impl LsOperations for RemoteOperations {
    async fn exists(&self, path: &Path) -> Result<bool, OpError> {
        self.is("exists", path).await
    }

    async fn is_directory(&self, path: &Path) -> Result<bool, OpError> {
        self.is("isDirectory", path).await
    }

    async fn readdir(&self, path: &Path) -> Result<Vec<String>, OpError> {
        self.call("readdir", json!([path])).await
    }
}

#[async_trait]
impl GrepOperations for RemoteOperations {
    async fn is_directory(&self, path: &Path) -> Result<bool, OpError> {
        self.is("isDirectory", path).await
    }
}

/// `spawnHook` of `createBashTool`.
#[async_trait]
impl SpawnHook for RemoteOperations {
    async fn spawn(&self, context: SpawnContext) -> Result<SpawnContext, String> {
        let given = json!({
            "command": context.command,
            "cwd": context.cwd,
            "env": environment_json(&context.env),
        });
        #[derive(serde::Deserialize)]
        struct Changed {
            command: String,
            cwd: std::path::PathBuf,
            env: std::collections::BTreeMap<String, String>,
        }
        let changed: Changed = self
            .call("spawnHook", json!([given]))
            .await
            .map_err(|error| error.message)?;
        Ok(SpawnContext {
            command: changed.command,
            cwd: changed.cwd,
            env: environment(changed.env),
        })
    }
}

/// Variables as extension code has them. A value that is no text loses what is none.
pub(crate) fn environment_json(env: &Environment) -> Value {
    let text = |value: &std::ffi::OsString| value.to_string_lossy().into_owned();
    env.iter()
        .map(|(name, value)| (text(name), Value::from(text(value))))
        .collect::<Map<_, _>>()
        .into()
}

pub(crate) fn environment(variables: impl IntoIterator<Item = (String, String)>) -> Environment {
    variables
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}
