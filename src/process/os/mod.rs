//! What the operating system offers for processes and descriptors, as safe calls.
//!
//! Invariant: nothing here knows what a run is.

pub mod ancestry;
pub mod descriptors;
pub mod identity;
pub mod pidfd;
pub mod tree;
