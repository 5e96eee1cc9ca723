//! A model request in terms that no protocol owns, so that one case can be played in each of them.

use super::http::Head;
use serde_json::{Map, Value, json};

/// How a request is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    OpenAi,
    Responses,
    Anthropic,
    Google,
}

/// One request.
pub(super) struct Request {
    pub(super) protocol: Protocol,
    path: String,
    headers: Map<String, Value>,
    key: String,
    body: Value,
}

impl Request {
    /// Reads the request of a model client.
    ///
    /// # Errors
    /// Why it is none.
    pub(super) fn read(head: &Head) -> Result<Self, String> {
        let (path, query) = head.target.split_once('?').unwrap_or((&head.target, ""));
        let protocol = if path.ends_with("/chat/completions") {
            Protocol::OpenAi
        } else if path.ends_with("/responses") {
            Protocol::Responses
        } else if path.ends_with("/messages") {
            Protocol::Anthropic
        } else if path.ends_with(":streamGenerateContent") {
            Protocol::Google
        } else {
            return Err(format!(
                "POST {} is no request of a known protocol",
                head.target
            ));
        };
        let body = serde_json::from_str(&head.body)
            .map_err(|error| format!("the body of POST {path} is no JSON: {error}"))?;
        let bearer = head
            .header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "));
        let key = bearer
            .or_else(|| head.header("x-api-key"))
            .or_else(|| head.header("x-goog-api-key"))
            .or_else(|| query.split('&').find_map(|pair| pair.strip_prefix("key=")))
            .unwrap_or_default()
            .to_owned();
        let headers = head
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        Ok(Self {
            protocol,
            path: path.to_owned(),
            headers,
            key,
            body,
        })
    }

    /// `{path, model, key, headers, system, tools: [name], messages, body}`; `messages` are
    /// `{role: "user"|"assistant"|"tool", text, images: [type], calls: [{name, arguments}]}`.
    pub(super) fn view(&self) -> Value {
        let body = &self.body;
        let (system, messages, tools) = match self.protocol {
            Protocol::OpenAi => openai(body),
            Protocol::Responses => responses(body),
            Protocol::Anthropic => anthropic(body),
            Protocol::Google => google(body),
        };
        let model = body["model"].as_str().map(str::to_owned).or_else(|| {
            let name = self.path.rsplit('/').next()?;
            Some(name.split(':').next()?.to_owned())
        });
        json!({
            "path": self.path, "model": model, "key": self.key, "headers": self.headers, "system": system, "tools": tools,
            "messages": messages, "body": body,
        })
    }
}

type View = (String, Vec<Value>, Vec<Value>);

/// A message under construction.
struct Message {
    role: &'static str,
    text: String,
    images: Vec<Value>,
    calls: Vec<Value>,
}

impl Message {
    fn new(role: &'static str) -> Self {
        Self {
            role,
            text: String::new(),
            images: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// Joins the texts of a content that is a string or a list of parts.
    fn content(mut self, content: &Value) -> Self {
        if let Some(text) = content.as_str() {
            self.text.push_str(text);
        }
        for part in list(content) {
            self.part(part);
        }
        self
    }

    fn part(&mut self, part: &Value) {
        if let Some(text) = part["text"].as_str() {
            self.text.push_str(text);
        }
        let address = part["image_url"]["url"]
            .as_str()
            .or_else(|| part["image_url"].as_str());
        let by_address = address
            .and_then(|url| url.strip_prefix("data:"))
            .and_then(|url| url.split(';').next());
        let kind = by_address
            .or_else(|| part["source"]["media_type"].as_str())
            .or_else(|| part["inlineData"]["mimeType"].as_str());
        self.images.extend(kind.map(|kind| json!(kind)));
    }

    fn call(&mut self, name: &Value, arguments: &Value) {
        let arguments = match arguments.as_str() {
            Some(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
            None => arguments.clone(),
        };
        self.calls
            .push(json!({"name": name, "arguments": arguments}));
    }

    fn done(self) -> Value {
        json!({"role": self.role, "text": self.text, "images": self.images, "calls": self.calls})
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn openai(body: &Value) -> View {
    let mut system = String::new();
    let mut messages = Vec::new();
    for message in list(&body["messages"]) {
        let role = match message["role"].as_str() {
            Some("system" | "developer") => {
                system.push_str(&Message::new("system").content(&message["content"]).text);
                continue;
            }
            Some("assistant") => "assistant",
            Some("tool") => "tool",
            _ => "user",
        };
        let mut view = Message::new(role).content(&message["content"]);
        for call in list(&message["tool_calls"]) {
            view.call(&call["function"]["name"], &call["function"]["arguments"]);
        }
        messages.push(view.done());
    }
    let tools = list(&body["tools"]).map(|tool| tool["function"]["name"].clone());
    (system, messages, tools.collect())
}

fn responses(body: &Value) -> View {
    let mut system = body["instructions"].as_str().unwrap_or_default().to_owned();
    let mut messages = Vec::new();
    for item in list(&body["input"]) {
        let view = match (item["type"].as_str(), item["role"].as_str()) {
            (_, Some("system" | "developer")) => {
                system.push_str(&Message::new("system").content(&item["content"]).text);
                continue;
            }
            (Some("function_call"), _) => {
                let mut view = Message::new("assistant");
                view.call(&item["name"], &item["arguments"]);
                view
            }
            (Some("function_call_output"), _) => Message::new("tool").content(&item["output"]),
            (Some("reasoning"), _) => continue,
            (_, Some("assistant")) => Message::new("assistant").content(&item["content"]),
            _ => Message::new("user").content(&item["content"]),
        };
        messages.push(view.done());
    }
    let tools = list(&body["tools"]).map(|tool| tool["name"].clone());
    (system, messages, tools.collect())
}

fn anthropic(body: &Value) -> View {
    let system = Message::new("system").content(&body["system"]).text;
    let mut messages = Vec::new();
    for message in list(&body["messages"]) {
        let results: Vec<_> = list(&message["content"])
            .filter(|part| part["type"] == "tool_result")
            .collect();
        for result in &results {
            messages.push(Message::new("tool").content(&result["content"]).done());
        }
        let role = if message["role"] == "assistant" {
            "assistant"
        } else {
            "user"
        };
        let mut view = Message::new(role).content(&message["content"]);
        for part in list(&message["content"]).filter(|part| part["type"] == "tool_use") {
            view.call(&part["name"], &part["input"]);
        }
        if results.is_empty() || !view.text.is_empty() || !view.images.is_empty() {
            messages.push(view.done());
        }
    }
    let tools = list(&body["tools"]).map(|tool| tool["name"].clone());
    (system, messages, tools.collect())
}

fn google(body: &Value) -> View {
    let system = Message::new("system")
        .content(&body["systemInstruction"]["parts"])
        .text;
    let mut messages = Vec::new();
    for content in list(&body["contents"]) {
        let role = if content["role"] == "model" {
            "assistant"
        } else {
            "user"
        };
        let mut view = Message::new(role);
        let mut results = 0;
        for part in list(&content["parts"]) {
            if part["functionResponse"].is_object() {
                let response = &part["functionResponse"]["response"];
                let mut result = Message::new("tool");
                let text = ["output", "result", "error"]
                    .iter()
                    .find_map(|name| response[*name].as_str());
                result.text = text.unwrap_or_default().to_owned();
                messages.push(result.done());
                results += 1;
            } else if part["functionCall"].is_object() {
                view.call(&part["functionCall"]["name"], &part["functionCall"]["args"]);
            } else if part["thought"] != true {
                view.part(part);
            }
        }
        if results == 0 || !view.text.is_empty() || !view.images.is_empty() {
            messages.push(view.done());
        }
    }
    let declarations = list(&body["tools"]).flat_map(|tool| list(&tool["functionDeclarations"]));
    let tools = declarations.map(|tool| tool["name"].clone());
    (system, messages, tools.collect())
}
