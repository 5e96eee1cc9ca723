//! Running what people invoke by name: commands, shortcuts, completions, renderers.

use std::sync::Arc;

use pier_protocol::extension::ExtensionErrorReport;
use pier_protocol::ui::ComponentHandle;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{ExtensionHost, Shared};
use crate::calls::Purpose;
use crate::isolate::CallError;
use crate::registry::{ExtensionInfo, commands, shortcuts};
use crate::report::describe;

impl ExtensionHost {
    /// Completions after `/name `; failures count as none.
    pub async fn completions(&self, command: &str, prefix: &str) -> Option<Value> {
        let found = self
            .shared
            .registry
            .with(|extensions| commands::find(extensions, command))?;
        if !found.has_completions {
            return None;
        }
        let header = json!({"ext": found.info.id, "command": found.name, "prefix": prefix});
        let list = self
            .shared
            .small_call(&found.info, "completions", "completions", &header, None)
            .await
            .ok()?;
        list.is_array().then_some(list)
    }

    /// Runs the shortcut of a key (as the terminal spells it). False when there is none.
    pub async fn run_shortcut(&self, key: &str) -> bool {
        let key = key.to_lowercase();
        let found = self.shared.registry.with(|extensions| {
            shortcuts::resolve(extensions)
                .0
                .into_iter()
                .find(|one| one.key == key)
        });
        let Some(shortcut) = found else { return false };
        let shared = &self.shared;
        let scope = shared.calls.begin(
            shortcut.info.id,
            &key,
            Purpose::Command,
            CancellationToken::new(),
        );
        let header =
            json!({"ext": shortcut.info.id, "key": shortcut.registered_key, "callId": scope.id()});
        let deadline = shared.limits.read().command;
        if let Err(error) = shared
            .invoke(
                &shortcut.info.isolate,
                "shortcut",
                &header,
                None,
                &scope,
                deadline,
            )
            .await
        {
            shared
                .reports
                .call_failed(&shortcut.info.path, &format!("shortcut:{key}"), &error);
        }
        true
    }

    /// Draws a custom message with the first extension that has a renderer for its type.
    pub async fn render_message(
        &self,
        custom_type: &str,
        message: &Value,
        options: &Value,
    ) -> Option<Vec<String>> {
        let info = self.shared.renderer(|loaded| {
            loaded
                .registered
                .message_renderers
                .iter()
                .any(|known| known == custom_type)
        })?;
        self.shared
            .render(&info, "message", options, json!({"message": message}))
            .await
    }

    /// Draws a custom entry.
    pub async fn render_entry(
        &self,
        custom_type: &str,
        entry: &Value,
        options: &Value,
    ) -> Option<Vec<String>> {
        let info = self.shared.renderer(|loaded| {
            loaded
                .registered
                .entry_renderers
                .iter()
                .any(|known| known == custom_type)
        })?;
        self.shared
            .render(&info, "entry", options, json!({"entry": entry}))
            .await
    }

    /// Draws a tool call (`toolCall`) or result (`toolResult`) with the renderer of the tool's extension.
    pub async fn render_tool(
        &self,
        what: &str,
        tool: &str,
        payload: Value,
        options: &Value,
    ) -> Option<Vec<String>> {
        let info = self.shared.registry.with(|extensions| {
            extensions
                .iter()
                .rev()
                .find(|loaded| {
                    loaded
                        .registered
                        .tools
                        .iter()
                        .any(|known| known.name == tool)
                })
                .map(|loaded| loaded.info.clone())
        })?;
        self.shared.render(&info, what, options, payload).await
    }
}

impl ExtensionHost {
    /// Asks a component of an extension to draw itself or to take input: `op` and its members as in
    /// `docs/bridge-protocol.md`, *Components*. `None` when there is no answer or it failed, which is reported.
    pub async fn component(
        &self,
        component: &ComponentHandle,
        op: &str,
        members: Value,
    ) -> Option<Value> {
        let ext = u32::try_from(component.ext).ok()?;
        let info = self.shared.registry.get(ext)?;
        let mut header = if members.is_object() {
            members
        } else {
            json!({})
        };
        header["handle"] = json!(component.handle);
        header["op"] = json!(op);
        match self
            .shared
            .small_call(&info, "render", "component", &header, None)
            .await
        {
            Ok(answer) => Some(answer).filter(|answer| !answer.is_null()),
            Err(error) => {
                self.shared
                    .reports
                    .call_failed(&info.path, "render", &error);
                None
            }
        }
    }

    /// Passes text that is about to be drawn through the markdown transformers, in load order.
    pub async fn transform_markdown(&self, markdown: String, context: &Value) -> String {
        let kind = context
            .get("messageType")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let transformers = self.shared.registry.with(|extensions| {
            let wanted = extensions.iter().filter(|loaded| {
                loaded
                    .registered
                    .markdown_transformer
                    .as_ref()
                    .is_some_and(|transformer| {
                        transformer
                            .message_types
                            .as_ref()
                            .is_none_or(|types| types.iter().any(|known| known == kind))
                    })
            });
            wanted.map(|loaded| loaded.info.clone()).collect::<Vec<_>>()
        });
        let mut text = markdown;
        for info in transformers {
            let payload: Arc<str> = json!({"markdown": text, "context": context})
                .to_string()
                .into();
            let header = json!({"ext": info.id});
            match self
                .shared
                .small_call(&info, "render", "transformMarkdown", &header, Some(payload))
                .await
            {
                Ok(Value::String(changed)) => text = changed,
                Ok(_) => {}
                Err(error) => self
                    .shared
                    .reports
                    .call_failed(&info.path, "render", &error),
            }
        }
        text
    }
}

impl Shared {
    /// Runs an extension command. `None` when there is no such command. A failure is reported as
    /// `command:<name>` and counts as handled.
    pub(crate) async fn run_command(self: &Arc<Self>, name: &str, args: &str) -> Option<()> {
        let found = self
            .registry
            .with(|extensions| commands::find(extensions, name))?;
        let scope = self.calls.begin(
            found.info.id,
            name,
            Purpose::Command,
            CancellationToken::new(),
        );
        let header = json!({"ext": found.info.id, "command": found.name, "args": args, "callId": scope.id()});
        let deadline = self.limits.read().command;
        if let Err(error) = self
            .invoke(
                &found.info.isolate,
                "runCommand",
                &header,
                None,
                &scope,
                deadline,
            )
            .await
        {
            let text = describe(&format!("/{name}"), &error);
            let mut report = ExtensionErrorReport::new(format!("command:{name}"), "command", text);
            report.stack = error.stack().map(str::to_string);
            report.location = error.place().cloned();
            report.follows = error.is_end_of_isolate();
            self.reports.send(report);
        }
        Some(())
    }

    /// A small synchronous function of an extension, with the short budget.
    pub(crate) async fn small_call(
        self: &Arc<Self>,
        info: &ExtensionInfo,
        what: &str,
        kind: &str,
        header: &Value,
        payload: Option<Arc<str>>,
    ) -> Result<Value, CallError> {
        let scope = self
            .calls
            .begin(info.id, what, Purpose::Other, CancellationToken::new());
        let mut header = header.clone();
        header["callId"] = json!(scope.id());
        let deadline = self.limits.read().small;
        self.invoke_json(&info.isolate, kind, &header, payload, &scope, deadline)
            .await
    }

    fn renderer(
        &self,
        has: impl Fn(&crate::registry::Loaded) -> bool,
    ) -> Option<Arc<ExtensionInfo>> {
        self.registry.with(|extensions| {
            extensions
                .iter()
                .find(|loaded| has(loaded))
                .map(|loaded| loaded.info.clone())
        })
    }

    async fn render(
        self: &Arc<Self>,
        info: &ExtensionInfo,
        what: &str,
        options: &Value,
        payload: Value,
    ) -> Option<Vec<String>> {
        let mut header = if options.is_object() {
            options.clone()
        } else {
            json!({})
        };
        header["ext"] = json!(info.id);
        header["what"] = json!(what);
        if header.get("width").is_none() {
            header["width"] = json!(80);
        }
        match self
            .small_call(
                info,
                "render",
                "render",
                &header,
                Some(payload.to_string().into()),
            )
            .await
        {
            Ok(answer) => {
                let lines = answer.get("lines")?.as_array()?;
                Some(
                    lines
                        .iter()
                        .filter_map(Value::as_str)
                        .map(str::to_string)
                        .collect(),
                )
            }
            Err(error) => {
                self.reports.call_failed(&info.path, "render", &error);
                None
            }
        }
    }
}
