//! The embedded offline provider.
