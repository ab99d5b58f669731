//! Everything that touches the git repository: worktrees, merges in memory, landings, references.
//!
//! All of it is synchronous, takes plain arguments and knows nothing of events. [`Repo`] is the way in. What the whole room keeps to:
//!
//! - **Nothing of a person's is lost.** Uncommitted work is never overwritten; what swarm itself throws away it keeps under `refs/swarm/rescue/` first.
//! - **Every call may be made again.** After a kill at any instruction the same call with the same arguments ends as if nothing had happened. Dates come from the caller, so commits are the same too.
//! - **References move by compare-and-swap**, after the objects that they need are on disk.
//! - **Agents share `.git` with us**, so nothing that it says is run unless it was there when the repository was opened: see `command` and `guard`.
//! - **Paths are bytes**, shown to people with [`printable`].
//!
//! | file | does |
//! | --- | --- |
//! | `command`, `child`, `running`, `guard`, `locks` | start git, end it, and what stands in its way |
//! | `repo`, `refs`, `durable`, `names`, `landings`, `brought`, `tags` | where things are and what they are called, what has landed |
//! | `registry`, `worktree`, `pool`, `release`, `nested`, `reset` | the life of a worktree |
//! | `status`, `snapshot`, `seal`, `markers` | the work in it |
//! | `merge`, `conflict`, `weave`, `layout`, `rebase`, `resolve` | bringing work together |
//! | `verify`, `land`, `follow`, `mend`, `theirs`, `aside` | the merged tree, the target, the person's checkout |
//!
//! At the start of a daemon: [`Repo::orphans_gone`], then [`Repo::settle_checkouts`].

mod anew;
mod aside;
mod brought;
mod child;
mod command;
mod conflict;
mod durable;
mod error;
mod fitness;
mod follow;
mod guard;
mod land;
mod landings;
mod layout;
mod left_out;
mod locks;
mod markers;
mod mend;
mod merge;
mod moved;
mod names;
mod nested;
mod noted;
mod pool;
mod rebase;
mod refs;
mod registry;
mod release;
mod repo;
mod reset;
mod resolve;
mod running;
mod seal;
mod snapshot;
mod spare;
mod special;
mod status;
mod stray;
mod tags;
mod theirs;
mod thrown;
mod unsettled;
mod verify;
mod weave;
mod whole;
mod worktree;

pub use anew::Anew;
pub use aside::Aside;
pub use brought::{Brought, Changes};
pub use conflict::{ConflictClass, ConflictFile, ConflictKind};
pub use error::GitError;
pub use fitness::Unfit;
pub use follow::Blocked;
pub use git2::Oid;
pub use guard::Setting;
pub use land::{Land, LandOutcome};
pub use landings::Landed;
pub use left_out::LeftOut;
pub use merge::{BuildMerge, BuildOutcome};
pub use names::{branch_ref, check_ref, printable, shown};
pub use nested::kept_name;
pub use rebase::{Rebase, Rebased, TargetState, dropped_ref};
pub use release::{Proof, Release, Released, rescue_ref};
pub use repo::{Identity, Repo, Settings};
pub use resolve::{Finish, FinishResolution};
pub use seal::{Seal, Sealed};
pub use snapshot::{KeptWork, Snapshot};
pub use spare::{Rescued, Spare};
pub use special::read as read_plain;
pub use status::WorktreeState;
pub use stray::Stray;
pub use tags::Tag;
pub use verify::{MERGE, TreeCheck};
pub use worktree::{Earlier, Prepare, Prepared, Saved};
