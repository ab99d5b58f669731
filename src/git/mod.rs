//! Everything that touches the git repository.
mod command;
mod durable;
mod error;
mod guard;
mod locks;
mod markers;
mod names;
mod pool;
mod refs;
mod registry;
mod release;
mod repo;
mod reset;
mod seal;
mod snapshot;
mod status;
mod verify;
mod worktree;

pub use error::GitError;
pub use git2::Oid;
pub use release::{Proof, Release, Released, rescue_ref};
pub use repo::{Identity, Repo, Settings};
pub use seal::{Seal, Sealed};
pub use snapshot::Snapshot;
pub use status::WorktreeState;
pub use verify::TreeCheck;
pub use worktree::{Prepare, Prepared};
