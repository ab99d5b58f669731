//! The pure rules: what may happen, and what follows. See the architecture in the crate's documentation.
//!
//! Invariant: nothing here touches a file, a process, git, the clock or randomness; time and fresh ids come in with the input.

pub mod command;
pub mod decide;
pub mod effect;
pub mod event;
pub mod evolve;
pub mod ids;
pub mod lifecycle;
pub mod observation;
pub mod rejection;
pub mod select;
pub mod settings;
pub mod signal;
pub mod state;
pub mod time;
pub mod view;

#[cfg(test)]
mod testkit;
#[cfg(test)]
mod tests;
