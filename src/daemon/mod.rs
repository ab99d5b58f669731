//! The running daemon: one writer, and the drivers that it sends out.
//!
//! Invariant: an event is on disk before anything that follows from it happens; only the actor decides, and no driver touches the state.

pub mod handle;
#[doc(hidden)]
pub mod testkit;

pub use handle::{Accepted, CommandError, Handle};
