//! What `swarm start` shows while the daemon works in the same process: `picture` puts the state
//! into a few lines, `bars` draws them on a terminal, and `progress` decides between that and plain
//! lines.

pub(super) mod bars;
pub(super) mod picture;
pub mod progress;
