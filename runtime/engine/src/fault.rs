//! What went wrong inside an isolate, as plain data: a JavaScript exception with its place.
//!
//! Also compiled into the build script (through `ops.rs`), so it must depend on nothing but `deno_core` and `serde`.

use deno_core::error::JsError;
use deno_core::v8;
use serde::{Deserialize, Serialize};

/// A place in a source file as its author sees it: after source maps, in the `.ts` file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Absolute path, or the specifier when the module is not a file.
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, in UTF-16 units.
    pub column: u32,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A JavaScript exception that left an isolate. `stack` is already source-mapped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsFault {
    /// The constructor name or `name` property: `Error`, `TypeError`, ...; empty for a thrown non-error.
    pub name: String,
    /// The `message` property, or the value converted to a string.
    pub message: String,
    /// The whole `stack` text, first line included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// `error.cause`, when it is an error too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<JsFault>>,
    /// The innermost frame in a file of the extension, or the place of a syntax error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
}

impl JsFault {
    /// A fault that no exception stands behind.
    pub fn new(name: &str, message: impl Into<String>) -> Self {
        Self {
            name: name.to_string(),
            message: message.into(),
            stack: None,
            cause: None,
            location: None,
        }
    }

    /// Reads a thrown value. Must run on the isolate's thread, inside a scope.
    pub fn from_exception<'s>(
        scope: &mut v8::PinScope<'s, '_>,
        value: v8::Local<'s, v8::Value>,
    ) -> Self {
        if value.is_native_error() || value.is_object() {
            return Self::from_js_error(&JsError::from_v8_exception(scope, value));
        }
        // A symbol refuses to become a string, with an exception of its own.
        if let Ok(symbol) = v8::Local::<v8::Symbol>::try_from(value) {
            let description = symbol.description(scope);
            let text = if description.is_undefined() {
                String::new()
            } else {
                description.to_rust_string_lossy(scope)
            };
            return Self::new("", format!("Symbol({text})"));
        }
        Self::new("", value.to_rust_string_lossy(scope))
    }

    pub fn from_js_error(error: &JsError) -> Self {
        let name = error.name.clone().unwrap_or_else(|| "Error".to_string());
        let message = error
            .message
            .clone()
            .unwrap_or_else(|| error.exception_message.clone());
        let location = error.frames.iter().filter_map(frame_location).fold(
            None,
            |best: Option<Location>, next| {
                // A frame of the author's own file says more than one deep inside a dependency.
                match best {
                    Some(best) if !best.file.contains("/node_modules/") => Some(best),
                    Some(best) if next.file.contains("/node_modules/") => Some(best),
                    _ => Some(next),
                }
            },
        );
        Self {
            name,
            message,
            stack: error.stack.clone(),
            cause: error
                .cause
                .as_deref()
                .map(|cause| Box::new(Self::from_js_error(cause))),
            location,
        }
    }
}

impl std::fmt::Display for JsFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.name.is_empty() || self.name == "Error" {
            write!(f, "{}", self.message)?;
        } else {
            write!(f, "{}: {}", self.name, self.message)?;
        }
        match &self.location {
            Some(location) => write!(f, " ({location})"),
            None => Ok(()),
        }
    }
}

fn frame_location(frame: &deno_core::error::JsStackFrame) -> Option<Location> {
    let file = frame.file_name.as_deref()?;
    let file = match deno_core::url::Url::parse(file) {
        Ok(url) if url.scheme() == "file" => {
            url.to_file_path().ok()?.to_string_lossy().into_owned()
        }
        Ok(_) => return None,
        Err(_) if file.starts_with('/') => file.to_string(),
        Err(_) => return None,
    };
    Some(Location {
        file,
        line: u32::try_from(frame.line_number?).ok()?,
        column: u32::try_from(frame.column_number?).ok()?,
    })
}
