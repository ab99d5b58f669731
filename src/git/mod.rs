//! Everything that touches the git repository: worktrees, merges in memory, landings, references.
//!
//! All of it is synchronous, takes plain arguments and knows nothing of events. [`Repo`] is the way
//! in. What the whole room keeps to:
//!
//! - **Nothing of a person's is lost.** Uncommitted work is never overwritten; what swarm itself
//!   throws away it keeps under `refs/swarm/rescue/` first.
//! - **Every call may be made again.** After a kill at any instruction the same call with the same
//!   arguments ends as if nothing had happened. Dates come from the caller, so commits are the same
//!   too.
//! - **References move by compare-and-swap**, after the objects that they need are on disk.
//! - **Agents share `.git` with us**, so nothing that it says is run unless it was there when the
//!   repository was opened: see `exec`.
//! - **Paths are bytes**, shown to people with [`printable`].
//!
//! | folder | does |
//! | --- | --- |
//! | `exec` | starts git and ends it; what in a repository can get in its way |
//! | `objects` | commits, references and names; what has landed |
//! | `worktree` | the life of a worktree, and the work in it |
//! | `merge` | merges in memory |
//! | `resolution` | conflicts settled in a worktree |
//! | `landing` | the merged tree, the target, the person's checkout |
//!
//! `repo` is the repository itself, `error` what can go wrong with it.
//!
//! At the start of a daemon: [`Repo::orphans_gone`], then [`Repo::settle_checkouts`].

mod error;
mod exec;
mod landing;
mod merge;
mod objects;
mod repo;
mod resolution;
mod worktree;

pub use error::GitError;
pub use exec::config_guard::Setting;
pub use exec::special_files::read as read_plain;
pub use git2::Oid;
pub use landing::land::{Land, LandOutcome};
pub use landing::obstacles::Blocked;
pub use landing::verify_tree::MERGE;
pub use merge::build::{BuildMerge, BuildOutcome};
pub use merge::classify::{ConflictClass, ConflictFile, ConflictKind};
pub use merge::rebase::{Rebase, Rebased, TargetState, dropped_ref};
pub use objects::branch_check::BranchProblem;
pub use objects::file_history::{Changes, UnapprovedChange};
pub use objects::landings::Landed;
pub use objects::names::{branch_ref, check_ref, printable, shown};
pub use objects::tags::Tag;
pub use repo::{Identity, Repo, Settings};
pub use resolution::dropped_changes::DroppedChanges;
pub use resolution::start_finish::{Finish, FinishResolution};
pub use worktree::commit_leftovers::{Seal, Sealed};
pub use worktree::disposable::{Disposable, Rescued};
pub use worktree::fresh_start::FreshStart;
pub use worktree::nested_repos::kept_name;
pub use worktree::off_target::Stray;
pub use worktree::prepare::{Earlier, Prepare, Prepared, Saved};
pub use worktree::release::{Proof, Release, Released, rescue_ref};
pub use worktree::snapshot::{KeptWork, Snapshot};
pub use worktree::status::WorktreeState;
