//! Files of a worktree that its setup depends on (`inputs`), ignored files of the person's checkout
//! that lie in it (`copies`), links that lead out of it (`outward_links`), and links in its git
//! directory to what filters look for there (`git_dir_links`). `filters` lists those.

pub(super) mod copies;
pub(super) mod filters;
pub(super) mod git_dir_links;
pub(super) mod inputs;
pub(super) mod outward_links;
