//! Files of a worktree that its setup depends on (`inputs`), and ignored files of the person's
//! checkout that lie in it (`copies`).

pub(super) mod copies;
pub(super) mod inputs;
