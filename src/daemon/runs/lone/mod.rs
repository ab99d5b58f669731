//! Runs of agents that belong to no idea: the `synthesis` of learnings, and the `replay` of a
//! recorded iteration. Called by `launch`.

pub(super) mod replay;
pub(super) mod synthesis;
