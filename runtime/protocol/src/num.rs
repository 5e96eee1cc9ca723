//! Numbers as JavaScript peers write and expect them.
//!
//! `JSON.stringify(0)` is `0`, while `serde_json` prints the float as `0.0`; and a peer may send
//! a token count as `12.0`. These helpers keep both directions tolerant. Nothing else belongs here.

use serde::{Deserialize, Deserializer, Serializer};

/// Writes a float the way JavaScript does: integral values without a fraction, non-finite ones as `null`.
pub fn serialize_f64<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if !value.is_finite() {
        serializer.serialize_none()
    } else if value.fract() == 0.0 && value.abs() < 9.0e15 {
        serializer.serialize_i64(*value as i64)
    } else {
        serializer.serialize_f64(*value)
    }
}

/// As [`serialize_f64`], for optional members.
pub fn serialize_opt_f64<S: Serializer>(
    value: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serialize_f64(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// Reads a float; `null` counts as zero.
pub fn deserialize_f64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(0.0))
}

/// Reads a non-negative counter from an integer, a float or `null`; negative values become zero.
pub fn deserialize_u64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Option::<f64>::deserialize(deserializer)?.unwrap_or(0.0);
    Ok(to_u64(value))
}

/// As [`deserialize_u64`], keeping absence and `null` apart from zero.
pub fn deserialize_opt_u64<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.map(to_u64))
}

/// Reads a millisecond timestamp from an integer, a float or `null` (zero).
pub fn deserialize_i64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let value = Option::<f64>::deserialize(deserializer)?.unwrap_or(0.0);
    Ok(value as i64)
}

fn to_u64(value: f64) -> u64 {
    // `as` saturates and maps NaN to zero, which is what a counter needs.
    value.round() as u64
}
