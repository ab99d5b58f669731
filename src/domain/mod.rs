//! The pure rules: what may happen, and what follows.

pub mod time;
