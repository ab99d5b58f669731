//! Runs that belong to no idea: the `synthesis` of learnings, the `replay` of a recorded iteration,
//! and the `probe` of the quality commands. Called by `launch`.

pub(super) mod probe;
pub(super) mod replay;
pub(super) mod synthesis;
