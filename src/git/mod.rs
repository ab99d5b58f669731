//! The git repository: worktrees, merges in memory, landings, references. [`Repo`] is the entry
//! point.
//!
//! - Calls are synchronous, take plain arguments and know nothing of events. `daemon` calls them.
//! - Uncommitted work is never overwritten. What swarm itself discards is saved under
//!   `refs/swarm/rescue/` first.
//! - Every call can be repeated after a kill. Dates come from the caller, so commits are identical
//!   too, unless they are signed.
//! - References move by compare-and-swap, after the objects they need are on disk.
//! - Agents share `.git` with us, so configured programs run only if they were there at opening:
//!   see `exec`.
//! - Paths are bytes; people see them through [`printable`].
//!
//! | file or folder | does |
//! | --- | --- |
//! | `error` | what can go wrong |
//! | `exec` | starts and stops git; guards against what in a repository could block or hijack it |
//! | `home` | which checkout has `.swarm` |
//! | `landing` | verifies the merged tree, moves the target, updates the person's checkout |
//! | `layout` | what in the layout keeps swarm from working |
//! | `leftovers` | locks and unfinished operations that stand in the way |
//! | `local` | files that a worktree has besides its commit |
//! | `merge` | merges in memory |
//! | `objects` | commits, references and names; what has landed |
//! | `operations` | a rebase, a merge and others that stopped in the middle |
//! | `person` | what the person's git says of commits |
//! | `repo` | the repository itself |
//! | `store` | objects and the index, as the git program knows them |
//! | `resolution` | conflicts resolved in a worktree |
//! | `worktree` | the life of a worktree, and the work in it |
//! | `worktrees_folder` | where the worktrees lie |
//!
//! A starting daemon calls [`Repo::wait_for_orphans`], then [`Repo::settle_checkouts`],
//! [`Repo::settle_folder`] and [`Repo::settle_worktrees`].

mod error;
mod exec;
mod home;
mod landing;
mod layout;
mod leftovers;
mod local;
mod merge;
mod objects;
mod operations;
mod person;
mod repo;
mod resolution;
mod store;
mod worktree;
mod worktrees_folder;

pub use error::GitError;
pub use exec::command::{editor, run_as};
pub use exec::config_guard::Setting;
pub use exec::special_files::read as read_plain;
pub use landing::land::{Land, LandOutcome};
pub use landing::obstacles::Blocked;
pub use landing::submodules::Leftover;
pub use landing::verify_tree::{CONTROL, VERIFY, VerifyTree};
pub use layout::{Finding, LayoutKind};
pub use local::copies::PathStatus;
pub use local::filters::Filter;
pub use merge::build::{BuildMerge, BuildOutcome};
pub use merge::classify::{ConflictClass, ConflictFile, ConflictKind};
pub use merge::own_work::OwnWork;
pub use merge::preview::{ChangeKind, FileChange, MergePreview};
pub use merge::rebase::{Rebase, Rebased, TargetState, dropped_ref};
pub use objects::branch_check::BranchProblem;
pub use objects::bundle::BundleHead;
pub use objects::file_history::{Changes, UnapprovedChange};
pub use objects::imports::{IMPORTS, Quarantine};
pub use objects::landings::Landed;
pub(crate) use objects::names::quoted;
pub use objects::names::{branch_ref, check_ref, printable, shown};
pub use objects::rewritten::Landing;
pub use objects::tags::Tag;
pub use objects::tree_changes::{Content, TreeChange};
pub use person::{Identity, Signing};
pub use repo::{Repo, Settings, main_root};
pub use resolution::dropped_changes::DroppedChanges;
pub use resolution::start_finish::{Finish, FinishResolution};
pub use store::oid::Oid;
pub use worktree::commit_leftovers::{Seal, Sealed};
pub use worktree::disposable::{Disposable, Rescued};
pub use worktree::fresh_start::FreshStart;
pub use worktree::nested_repos::kept_name;
pub use worktree::off_target::Stray;
pub use worktree::prepare::{Earlier, Prepare, Prepared, Saved};
pub use worktree::release::{Proof, Release, Released, rescue_ref};
pub use worktree::replay_tree::REPLAY;
pub use worktree::reuse::ignored::KeepIgnored;
pub use worktree::snapshot::trees::{KeepTrees, TreeAt};
pub use worktree::snapshot::{KeptWork, Snapshot};
pub use worktree::status::WorktreeState;
pub(crate) use worktrees_folder::read as worktrees_folder;
pub use worktrees_folder::{Places, SettledFolder};
