//! Outcomes of effects. A driver returns the type of its own effect, or a [`Failure`]; [`Outcome`]
//! is any of these types, passed on to `decide`.
//!
//! Invariant: outcomes are not in the log; the events that follow from them are.

use std::collections::BTreeMap;

use super::effect::{ConflictLevel, Saved};
use super::event::LandingFound;
use super::ids::{IdeaId, Oid};
use super::likeness::{Measures, Verdict};
use super::observation::RunEnd;
use super::state::checkpoint::{Checkpoint, IdeaThen};

/// Outcome of an effect: one variant for each [`Effect`](super::effect::Effect), with the same
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
    PrepareBaseline(BaselineReady),
    Land(LandOutcome),
    StartResolution(ResolutionStarted),
    FinishResolution(FinishResolutionOutcome),
    ReleaseWorktree(WorktreeReleased),
    LendWorktree(LendOutcome),
    MakeCheckpoint(Box<Checkpoint>),
    DeleteCheckpoint(CheckpointDeleted),
    CheckRollback(CheckRollbackOutcome),
    MoveTarget(MoveTargetOutcome),
    ArchiveInbox(InboxArchived),
    Notify(NotifyOutcome),
    JudgeReplay(ReplayMeasured),
}

/// Why an effect failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Kind of failure.
    pub kind: FailureKind,
    /// What happened, why, and what to do; for people.
    pub message: String,
}

impl Failure {
    /// A failure of the kind [`Other`](FailureKind::Other).
    pub fn other(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Other,
            message: message.into(),
        }
    }
}

/// Kinds of failure that are handled differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The disk is full: no attempt is at fault; try again later.
    NoSpace,
    /// A problem of the whole repository that only a person can fix: every idea would meet it.
    Repository,
    /// Git cannot write the files of a worktree: a filter fails, or objects are missing. It may
    /// pass by itself (a network that is back), and no idea is at fault.
    Content,
    /// The agent's program is missing, not executable or not configured.
    AgentUnusable,
    /// Another program holds a lock of git: no attempt is at fault; try again later.
    Locked {
        /// Whether it has held the lock for so long that a person should look.
        long: bool,
    },
    /// Anything else.
    Other,
}

/// The worktree is ready and on its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreePrepared {
    /// Commit of the branch.
    pub head: Oid,
    /// Commit where it left the target.
    pub base: Oid,
    /// Whether the directory still holds the ignored files of its previous use, so that a setup
    /// recorded for its name is still valid.
    pub warm: bool,
    /// What it needs besides its commit.
    pub setup: TreeSetup,
}

/// What a prepared tree needs besides its commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeSetup {
    /// Digest of the setup commands and of the files that they depend on, as they are there now;
    /// `None` if no setup is configured.
    pub key: Option<String>,
    /// Why files of `worktree.copy` are not in it, for people.
    pub not_copied: Vec<String>,
}

/// The run was told to stop, or had already ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopDelivered;

/// Whether the branch of an attempt can be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealOutcome {
    /// The branch can be merged.
    Sealed {
        /// Commit of the branch.
        head: Oid,
        /// Whether leftovers were committed.
        committed: bool,
        /// As in [`TreeSetup::key`].
        setup: Option<String>,
        /// Links that lead out of the worktree and were not committed.
        links: Vec<String>,
    },
    /// Something is uncommitted, and the commit hooks have to pass first. Nothing was changed.
    HooksDue,
    /// The worktree or the branch is in a state that only its agent can resolve.
    Unsealable {
        /// Description of that state, for people.
        message: String,
    },
}

/// Result of saving a redirected agent's work in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveWorkOutcome {
    /// The work is saved as commits.
    Saved {
        /// The saved commits.
        saved: Saved,
        /// Whether there was uncommitted work.
        committed: bool,
    },
    /// The worktree is in a state that only its agent can resolve.
    Unsealable {
        /// Description of that state, for people.
        message: String,
    },
}

/// Result of a merge in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildMergeOutcome {
    /// The merge commit exists.
    Built {
        /// The merge commit.
        commit: Oid,
        /// Target commit that it was built on.
        target: Oid,
        /// Files whose SIMPLE conflicts were resolved.
        resolved: Vec<String>,
    },
    /// The branch contains nothing new for the target.
    NothingToMerge {
        /// Commit of the target.
        target: Oid,
    },
    /// The merge has a conflict.
    Conflicted {
        /// Commit of the target.
        target: Oid,
        /// Who can resolve it.
        level: ConflictLevel,
        /// Files in conflict.
        files: Vec<String>,
    },
    /// The queued commit no longer fits the target, and somebody has rebased the branch by hand.
    BroughtOver {
        /// Commit where it leaves the target now.
        base: Oid,
        /// Tip of the branch.
        head: Oid,
    },
    /// The target no longer contains its last known commit.
    TargetRewritten(Rewrite),
}

/// What a rewritten target has of the work that had landed on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// Current commit of the target.
    pub found: Oid,
    /// Ideas whose work is there as another commit.
    pub kept: Vec<LandingFound>,
    /// Ideas that had landed and whose work the target no longer contains.
    pub dropped: Vec<IdeaId>,
}

/// The merged tree is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyReady {
    /// Whether the directory still holds the ignored files of its previous use, so that a setup
    /// recorded for its name is still valid.
    pub warm: bool,
    /// What it needs besides its commit.
    pub setup: TreeSetup,
    /// Digest of what a probe of the checks depends on; `None` if they are not probed.
    pub probe: Option<String>,
}

/// The untouched target is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineReady {
    /// Its commit.
    pub commit: Oid,
    /// Whether the directory still holds the ignored files of its previous use, so that a setup
    /// recorded for its name is still valid.
    pub warm: bool,
    /// What it needs besides its commit.
    pub setup: TreeSetup,
    /// Digest of what a probe of the checks depends on; `None` if they are not probed.
    pub probe: Option<String>,
}

/// Result of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandOutcome {
    /// The target contains the commit.
    Landed,
    /// The target contains the commit, and submodules in a checkout of it did not follow.
    LandedBehind {
        /// Which, why, and what to do; for people.
        submodules: String,
    },
    /// The target has moved.
    TargetMoved {
        /// Current commit of the target.
        found: Oid,
    },
    /// The user's checkout cannot be updated.
    CheckoutBlocked(CheckoutBlocked),
}

/// Why a checkout of the target cannot be updated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutBlocked {
    /// Reason, for people.
    pub reason: String,
    /// Files in the way, if any.
    pub files: Vec<String>,
    /// Whether it may be over soon without a person: another program holds a lock.
    pub passes: bool,
}

/// The target was merged into the worktree, except for the files in conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolutionStarted {
    /// Commit of the branch.
    pub head: Oid,
    /// Files in conflict; if empty, the merge is finished.
    pub files: Vec<String>,
    /// Changes that the resolution dropped, if any.
    pub left_out: Option<LeftOut>,
    /// Commit with the unfinished resolution from before the target moved.
    pub saved: Option<Oid>,
}

/// Whether the merge in the worktree could be finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishResolutionOutcome {
    /// The merge is finished.
    Finished {
        /// Commit of the branch.
        head: Oid,
        /// Changes that the resolution dropped, if any.
        left_out: Option<LeftOut>,
    },
    /// Files are still in conflict.
    StillConflicted {
        /// Paths relative to the repository.
        files: Vec<String>,
    },
}

/// Changes that a conflict resolution dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Files that the work changed and that now equal the target.
    pub files: Vec<String>,
    /// Files that only the target changed and that now have their old content.
    pub undone: Vec<String>,
    /// Reference that keeps the work.
    pub kept: String,
}

/// The worktree was released.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeReleased {
    /// Directory of the git repositories that the agent had created inside it, if any.
    pub kept: Option<String>,
    /// The work of a branch that did not land, as commits under `refs/swarm/rescue/`.
    pub rescued: Option<Saved>,
}

/// Result of lending a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LendOutcome {
    /// It is free for another attempt.
    Lent,
    /// It holds something that is not on its branch, and nothing was changed.
    HoldsMore {
        /// What it holds, for people.
        what: String,
    },
}

/// The checkpoint no longer exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointDeleted;

/// Whether a rollback is possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckRollbackOutcome {
    /// It is possible, with this result for the ideas.
    Ready(BTreeMap<IdeaId, IdeaThen>),
    /// A checkout of the target cannot be updated.
    CheckoutBlocked(CheckoutBlocked),
}

/// Result of moving the target in a rollback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveTargetOutcome {
    /// The target is at the commit.
    Moved,
    /// The target is at the commit, and submodules in a checkout of it did not follow.
    MovedBehind {
        /// Which, why, and what to do; for people.
        submodules: String,
    },
    /// Somebody else has moved the target.
    TargetMoved {
        /// Current commit of the target.
        found: Oid,
    },
    /// A checkout of the target cannot be updated.
    CheckoutBlocked(CheckoutBlocked),
}

/// The inbox file is in `accepted/`, or no longer belongs to the idea.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxArchived;

/// Result of sending a notice to the webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyOutcome {
    /// The receiver accepted it, or it is no longer to be sent.
    Delivered,
    /// It may be accepted later.
    Later {
        /// What happened, for people; without the address's path and without headers, which may be
        /// secret.
        why: String,
        /// How long the receiver asked to wait, in milliseconds.
        after_ms: Option<i64>,
        /// Random number below 1000 that spreads the next tries.
        jitter: u16,
    },
    /// Sending it again is useless.
    Refused {
        /// What happened, for people; see above.
        why: String,
    },
}

/// What a replay came to, compared with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayMeasured {
    /// The judgement, or why there is none, for people.
    pub judgement: Result<Judgement, String>,
}

/// A verdict and its grounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// All measures.
    pub measures: Measures,
}
