//! What the effects come to. A driver returns the type of its own effect, or a [`Failure`];
//! [`Outcome`] is any of these types, on its way to the decisions.
//!
//! Invariant: an outcome is not in the log; the events that follow from it are.

use std::collections::BTreeMap;

use super::effect::{ConflictLevel, Saved};
use super::ids::{IdeaId, Oid};
use super::observation::RunEnd;
use super::state::checkpoint::{Checkpoint, IdeaThen};

/// What an effect came to: one variant for each [`Effect`](super::effect::Effect), of the same
/// name.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::From, derive_more::TryInto)]
#[allow(missing_docs)] // see the types
#[allow(clippy::large_enum_variant)] // there are few at a time
pub enum Outcome {
    PrepareWorktree(WorktreePrepared),
    Run(RunEnd),
    StopRun(StopDelivered),
    Seal(SealOutcome),
    SaveWork(SaveWorkOutcome),
    BuildMerge(BuildMergeOutcome),
    PrepareVerify(VerifyReady),
    Land(LandOutcome),
    StartResolution(ResolutionStarted),
    FinishResolution(FinishResolutionOutcome),
    ReleaseWorktree(WorktreeReleased),
    MakeCheckpoint(Box<Checkpoint>),
    DeleteCheckpoint(CheckpointDeleted),
    CheckRollback(CheckRollbackOutcome),
    MoveTarget(MoveTargetOutcome),
    ArchiveInbox(InboxArchived),
}

/// Why an effect could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What, why and what to do.
    pub message: String,
}

impl Failure {
    /// A failure of no particular kind.
    pub fn other(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Other,
            message: message.into(),
        }
    }
}

/// Kinds of failure that are treated differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// No room on the disk: nobody's fault, try again later.
    NoSpace,
    /// Something about the whole repository that only a person can put right: every idea would meet
    /// it.
    Repository,
    /// The agent's program is missing, not executable or not configured.
    AgentUnusable,
    /// Anything else.
    Other,
}

/// The worktree is there, on its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreePrepared {
    /// The branch's commit.
    pub head: Oid,
    /// Where it left the target.
    pub base: Oid,
}

/// The run was told to end, or nothing was there to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopDelivered;

/// Whether the branch of an attempt can be merged as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealOutcome {
    /// It can.
    Sealed {
        /// The branch's commit.
        head: Oid,
        /// Whether leftovers were committed.
        committed: bool,
    },
    /// The worktree or the branch is in a state that only its agent can end.
    Unsealable {
        /// What was found.
        message: String,
    },
}

/// What became of the work in progress of an agent that is redirected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveWorkOutcome {
    /// It is kept by its commits.
    Saved {
        /// Where.
        saved: Saved,
        /// Whether something was uncommitted.
        committed: bool,
    },
    /// The worktree is in a state that only its agent can end.
    Unsealable {
        /// What was found.
        message: String,
    },
}

/// What became of a merge in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildMergeOutcome {
    /// The merged commit exists.
    Built {
        /// The merge commit.
        commit: Oid,
        /// The target's commit that it was built on.
        target: Oid,
        /// Files whose conflict was SIMPLE and is resolved.
        resolved: Vec<String>,
    },
    /// The branch holds nothing that the target lacks.
    NothingToMerge {
        /// The target's commit.
        target: Oid,
    },
    /// The merge has a conflict.
    Conflicted {
        /// The target's commit.
        target: Oid,
        /// Who can resolve it.
        level: ConflictLevel,
        /// Where.
        files: Vec<String>,
    },
    /// The branch as it was queued does not fit the target any more, and somebody has brought it
    /// onto that by hand.
    BroughtOver {
        /// Where it leaves the target now.
        base: Oid,
        /// Where it stands.
        head: Oid,
    },
    /// The target no longer contains the commit where it was last seen.
    TargetRewritten {
        /// Where it is now.
        found: Oid,
        /// Ideas that had landed on it and that it has no longer.
        dropped: Vec<IdeaId>,
    },
}

/// The merged tree is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyReady;

/// What became of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandOutcome {
    /// The target contains the commit.
    Landed,
    /// The target is not where it was expected.
    TargetMoved {
        /// Where it is.
        found: Oid,
    },
    /// The user's checkout is in the way.
    CheckoutBlocked(CheckoutBlocked),
}

/// Why a checkout of the target cannot follow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutBlocked {
    /// What is in the way.
    pub reason: String,
    /// Which files.
    pub files: Vec<String>,
}

/// The target is merged into the worktree, but for the files in conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolutionStarted {
    /// The branch's commit.
    pub head: Oid,
    /// Files in conflict; none: the merge is concluded.
    pub files: Vec<String>,
    /// Work that it was concluded without.
    pub left_out: Option<LeftOut>,
}

/// Whether the merge in the worktree could be concluded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishResolutionOutcome {
    /// It is concluded.
    Finished {
        /// The branch's commit.
        head: Oid,
        /// Work that it was concluded without.
        left_out: Option<LeftOut>,
    },
    /// Files are still in conflict.
    StillConflicted {
        /// The files, relative to the repository.
        files: Vec<String>,
    },
}

/// What a conflict was settled without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Files that the work changed and that are as the target has them.
    pub files: Vec<String>,
    /// Files that only the target changed and that are as they were before.
    pub undone: Vec<String>,
    /// The reference that has the work.
    pub kept: String,
}

/// The worktree is given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeReleased {
    /// Where the git repositories are now that the agent had made inside it, if there were any.
    pub kept: Option<String>,
}

/// The checkpoint is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointDeleted;

/// Whether a rollback can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckRollbackOutcome {
    /// It can, and makes this of the ideas.
    Ready(BTreeMap<IdeaId, IdeaThen>),
    /// A checkout of the target is in the way.
    CheckoutBlocked(CheckoutBlocked),
}

/// What became of the target in a rollback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveTargetOutcome {
    /// It is at the commit.
    Moved,
    /// Somebody else has moved it meanwhile.
    TargetMoved {
        /// Where it is.
        found: Oid,
    },
    /// A checkout of the target is in the way.
    CheckoutBlocked(CheckoutBlocked),
}

/// The inbox file is in `accepted/`, or was none of the idea's any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxArchived;
