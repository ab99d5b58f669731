//! The pages of the swarm itself: what it learned, its hooks, its settings.

pub mod hook;
pub mod hooks;
pub mod learnings;
pub mod settings;
