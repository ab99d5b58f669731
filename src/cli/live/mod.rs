//! What `swarm start` shows while the daemon works in the same process: `frame` summarizes the
//! state, `bars` draws it on a terminal, and `progress` chooses between bars, lines and JSON.

pub(super) mod bars;
pub(super) mod frame;
pub mod progress;
