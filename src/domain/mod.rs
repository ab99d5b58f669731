//! The pure rules: what may happen, and what follows.

pub mod signal;
pub mod time;
