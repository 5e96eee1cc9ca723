//! Arguments of tool calls against the tool's JSON Schema: lenient coercion, validation, and the text that a model
//! gets when its arguments do not fit (`spec/agent-loop.md` §4.1). Never fetches anything and never runs a tool.

mod coerce;
mod reason;

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::Validator;
use parking_lot::Mutex;
use serde_json::Value;

/// Problems that one failure lists at most; a long array of wrong items would repeat itself.
const MAX_PROBLEMS: usize = 20;

/// What the names of the published drafts have in common.
const KNOWN_DRAFTS: [&str; 2] = ["json-schema.org/draft-0", "json-schema.org/draft/20"];

/// A parameter schema that cannot be used. The text names the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Tool \"{tool}\" has an invalid parameter schema: {reason}")]
pub struct SchemaError {
    pub tool: String,
    pub reason: String,
}

/// Why a call cannot run. The text is what the model is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// A compiled parameter schema of one tool.
#[derive(Debug)]
pub struct ArgumentSchema {
    tool: String,
    schema: Value,
    validator: Validator,
}

impl ArgumentSchema {
    /// Compiles `schema`, which must describe itself completely: references to other documents are errors.
    ///
    /// # Errors
    /// When it is not a valid JSON Schema, or refers to itself without end.
    pub fn compile(tool: &str, schema: &Value) -> Result<Self, SchemaError> {
        let invalid = |reason: String| SchemaError {
            tool: tool.to_owned(),
            reason,
        };
        if !schema.is_object() && !schema.is_boolean() {
            return Err(invalid("it must be a JSON object".to_owned()));
        }
        if let Some(reference) = coerce::endless_reference(schema) {
            return Err(invalid(format!("{reference} refers to itself without end")));
        }
        let validator = build(schema).map_err(|e| invalid(reason::of_schema_error(&e)))?;
        Ok(Self {
            tool: tool.to_owned(),
            schema: schema.clone(),
            validator,
        })
    }

    /// Coerces and validates `args`. `raw` is what the model sent, for the text of a failure.
    ///
    /// # Errors
    /// The text for the model.
    pub fn check(&self, mut args: Value, raw: &Value) -> Result<Value, ArgumentError> {
        coerce::coerce(&mut args, &self.schema);
        // The usual case, without collecting anything.
        if self.validator.is_valid(&args) {
            return Ok(args);
        }
        let mut problems = Vec::new();
        let mut more = 0;
        for error in self.validator.iter_errors(&args) {
            let problem = reason::of(&error);
            if problems.contains(&problem) {
                continue;
            }
            if problems.len() < MAX_PROBLEMS {
                problems.push(problem);
            } else {
                more += 1;
            }
        }
        if problems.is_empty() {
            return Ok(args);
        }
        if more > 0 {
            problems.push((reason::ROOT.to_owned(), format!("{more} more problems")));
        }
        Err(ArgumentError::Invalid(failure_text(
            &self.tool, &problems, raw,
        )))
    }
}

/// Compiles in the draft that the schema names. A draft that nobody knows says nothing, so the newest one is used.
fn build(schema: &Value) -> Result<Validator, jsonschema::ValidationError<'static>> {
    let mut options = jsonschema::options();
    options = options.should_validate_formats(false);
    let draft = schema.get("$schema").and_then(Value::as_str);
    if draft.is_none_or(|name| KNOWN_DRAFTS.iter().any(|known| name.contains(known))) {
        return options.build(schema);
    }
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        members.shift_remove("$schema");
    }
    options.build(&schema)
}

/// The text of a validation failure. Each problem is a dotted path (`root` for the whole) and a reason.
pub fn failure_text(tool: &str, problems: &[(String, String)], raw: &Value) -> String {
    let mut text = format!("Validation failed for tool \"{tool}\":\n");
    for (path, reason) in problems {
        text.push_str(&format!("  - {path}: {reason}\n"));
    }
    // Formatting a value that is already in memory cannot fail.
    let raw = serde_json::to_string_pretty(raw).unwrap_or_default();
    text.push_str(&format!("\nReceived arguments:\n{raw}"));
    text
}

/// Compiled schemas by tool. A tool that is registered again with another schema is compiled again.
#[derive(Debug, Default)]
pub struct SchemaCache(Mutex<HashMap<String, Cached>>);

#[derive(Debug)]
struct Cached {
    schema: Value,
    compiled: Result<Arc<ArgumentSchema>, SchemaError>,
}

impl SchemaCache {
    pub fn new() -> Self {
        Self::default()
    }

    /// The compiled schema of `tool`.
    ///
    /// # Errors
    /// When `schema` does not compile; remembered as well.
    pub fn get(&self, tool: &str, schema: &Value) -> Result<Arc<ArgumentSchema>, SchemaError> {
        let mut cache = self.0.lock();
        if let Some(cached) = cache.get(tool).filter(|cached| cached.schema == *schema) {
            return cached.compiled.clone();
        }
        let compiled = ArgumentSchema::compile(tool, schema).map(Arc::new);
        let cached = Cached {
            schema: schema.clone(),
            compiled: compiled.clone(),
        };
        cache.insert(tool.to_owned(), cached);
        compiled
    }

    /// Coerces and validates the arguments of one call; see [`ArgumentSchema::check`].
    ///
    /// # Errors
    /// The text for the model.
    pub fn check(
        &self,
        tool: &str,
        schema: &Value,
        args: Value,
        raw: &Value,
    ) -> Result<Value, ArgumentError> {
        self.get(tool, schema)?.check(args, raw)
    }

    /// Forgets a tool that is gone.
    pub fn forget(&self, tool: &str) {
        self.0.lock().remove(tool);
    }
}
