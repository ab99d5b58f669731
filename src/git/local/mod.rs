//! Files of a worktree that its setup depends on (`inputs`), and ignored files of the person's
//! checkout that lie in it (`copies`), and links that lead out of it (`outward_links`).

pub(super) mod copies;
pub(super) mod inputs;
pub(super) mod outward_links;
