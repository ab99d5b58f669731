//! The life of a worktree: `registry` (where they lie), `prepare`, `pool`, `release`, `reuse` (by
//! the next idea).
//!
//! Work in it: `status`, `snapshot` (saves work without touching it, and keeps the files before and
//! after an iteration), `commit_leftovers` (commits what an agent left), `reset`, `nested_repos`
//! (repositories that an agent created inside), `submodules`. Rare states: `relocated` (the
//! repository was moved), `fresh_start` (an earlier attempt left nothing), `off_target` (an agent
//! committed to the target), `disposable` (what `clean` may remove). `replay_tree` is detached, and
//! never lands.
//! Invariant: work is saved before it is removed.

pub(super) mod commit_leftovers;
pub(super) mod disposable;
pub(super) mod fresh_start;
pub(super) mod nested_repos;
pub(super) mod off_target;
pub(super) mod pool;
pub(super) mod prepare;
pub(super) mod registry;
pub(super) mod release;
pub(super) mod relocated;
pub(super) mod replay_tree;
pub(super) mod reset;
pub(super) mod reuse;
pub(super) mod snapshot;
pub(super) mod status;
pub(super) mod submodules;
