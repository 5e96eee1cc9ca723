//! Validation errors in words for a model: which member, and what it must be. Formats only.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

/// Path of the arguments as a whole.
pub(super) const ROOT: &str = "root";

/// Listed alternatives of one problem at most.
const MAX_ALTERNATIVES: usize = 5;

/// Dotted path and reason of one error.
pub(super) fn of(error: &ValidationError<'_>) -> (String, String) {
    let mut path: Vec<String> = error
        .instance_path()
        .iter()
        .map(|part| part.to_string())
        .collect();
    if let ValidationErrorKind::Required {
        property: Value::String(name),
    } = error.kind()
    {
        path.push(name.clone());
    }
    let path = if path.is_empty() {
        ROOT.to_owned()
    } else {
        path.join(".")
    };
    (path, reason(error))
}

fn reason(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Required { .. } => "missing".to_owned(),
        ValidationErrorKind::Type { kind } => format!("must be {}", type_names(kind)),
        ValidationErrorKind::Enum { options } => format!("must be one of {}", listed(options)),
        ValidationErrorKind::Constant { expected_value } => format!("must be {expected_value}"),
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let names: Vec<String> = unexpected
                .iter()
                .map(|name| format!("\"{name}\""))
                .collect();
            format!("unknown member {}", names.join(", "))
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            alternatives(context)
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            "must fit exactly one of the allowed forms".to_owned()
        }
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("must be at most {limit}"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("must be greater than {limit}"),
        ValidationErrorKind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        ValidationErrorKind::MultipleOf { multiple_of } => {
            format!("must be a multiple of {multiple_of}")
        }
        ValidationErrorKind::MinLength { limit } => {
            format!("must have at least {limit} characters")
        }
        ValidationErrorKind::MaxLength { limit } => format!("must have at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => format!("must have at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("must have at most {limit} items"),
        ValidationErrorKind::AdditionalItems { limit } => {
            format!("must have at most {limit} items")
        }
        ValidationErrorKind::MinProperties { limit } => {
            format!("must have at least {limit} members")
        }
        ValidationErrorKind::MaxProperties { limit } => {
            format!("must have at most {limit} members")
        }
        ValidationErrorKind::UniqueItems => "must not have equal items".to_owned(),
        ValidationErrorKind::Pattern { pattern } => format!("must match the pattern {pattern}"),
        ValidationErrorKind::PropertyNames { error } => {
            format!("has a member with a name that is not allowed: {error}")
        }
        ValidationErrorKind::FalseSchema => "is not allowed".to_owned(),
        // Their texts quote the whole value, which may be long and is shown below anyway.
        _ => error.masked().to_string(),
    }
}

/// What a value that fits none of several forms could be: the first problem of each.
fn alternatives(context: &[Vec<ValidationError<'static>>]) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for errors in context {
        let Some(first) = errors.first() else {
            continue;
        };
        let (path, text) = of(first);
        let text = if path == ROOT || path_is_own(first) {
            text
        } else {
            format!("{path} {text}")
        };
        if !reasons.contains(&text) {
            reasons.push(text);
        }
    }
    match reasons.len() {
        0 => "must fit one of the allowed forms".to_owned(),
        1..=MAX_ALTERNATIVES => reasons.join(", or "),
        more => {
            let shown = reasons
                .get(..MAX_ALTERNATIVES)
                .unwrap_or_default()
                .join(", or ");
            format!("{shown}, or {} other forms", more - MAX_ALTERNATIVES)
        }
    }
}

/// Whether the error is about the value itself rather than about something inside it.
fn path_is_own(error: &ValidationError<'_>) -> bool {
    matches!(
        error.kind(),
        ValidationErrorKind::Type { .. }
            | ValidationErrorKind::Constant { .. }
            | ValidationErrorKind::Enum { .. }
    )
}

fn type_names(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(many) => many
            .iter()
            .map(|one| one.to_string())
            .collect::<Vec<_>>()
            .join(" or "),
    }
}

fn listed(options: &Value) -> String {
    match options {
        Value::Array(list) => list
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    }
}

/// Why a schema does not compile, with the place in the schema.
pub(super) fn of_schema_error(error: &ValidationError<'_>) -> String {
    // The value at fault is a part of the schema here, so its path is the place.
    let place = error.instance_path().as_str();
    let text = error.masked().to_string();
    if place.is_empty() {
        text
    } else {
        format!("{place}: {text}")
    }
}
