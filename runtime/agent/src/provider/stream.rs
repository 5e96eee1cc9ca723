//! Strict validation of provider streams.
