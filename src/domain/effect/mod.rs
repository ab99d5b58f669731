//! What the shell must do. An effect is a fact: it is journaled as requested before anything is
//! done, and stays in the outbox until its outcome is journaled. After a restart the whole outbox
//! is dispatched again, so delivery is at least once, and each variant says how its driver sees
//! that it is done already.

mod checkpoint;
mod merge;
mod work;

use serde::{Deserialize, Serialize};

use crate::domain::hook::HookName;
use crate::domain::ids::{AgentId, IdeaId, Oid, ProfileName, RunId};

pub use checkpoint::*;
pub use merge::*;
pub use work::*;

/// Something to be done outside, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::From)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// Make the worktree of an attempt, on a new branch from the target, or take over the kept
    /// worktree of an earlier attempt with all that lies in it. Done already: the worktree is
    /// registered, complete and on its branch.
    PrepareWorktree(PrepareWorktree),
    /// Run a child process under its runner until it ends. Done already: its directory holds
    /// `exit.json`; still running: its lock is held, and it is adopted; neither, but
    /// `started.json`: its runner was killed, what is left of its tree is ended and the run is
    /// lost.
    Run(Run),
    /// End a run: TERM, then KILL after its grace; `now`: KILL. Done already: no runner holds the
    /// run's lock.
    StopRun(StopRun),
    /// Look where the attempt's branch stands and, when `commit` is set, commit what was left
    /// uncommitted. Done already: nothing is left uncommitted.
    Seal(Seal),
    /// Commit the work in progress of an attempt that is redirected to its branch, and keep that
    /// under `refs/swarm/rescue/`. Done already: nothing is left uncommitted, and the reference has
    /// the commit.
    SaveWork(SaveWork),
    /// Build the merged tree and its commit in memory; no reference moves. A redo gives the same
    /// object.
    BuildMerge(BuildMerge),
    /// Bring the merge worktree to this commit, for the quality commands. A redo gives the same
    /// tree.
    PrepareVerify(PrepareVerify),
    /// Move the target from `expected` to `commit` by compare-and-swap; the user's checkout
    /// follows. Done already: the target contains `commit`.
    Land(Land),
    /// Merge the target into the attempt's worktree, conflicts left there. Done already: the merge
    /// is in progress or in the branch.
    StartResolution(StartResolution),
    /// Conclude that merge when nothing is left in conflict. Done already: no merge is in progress,
    /// and the branch contains the target's commit.
    FinishResolution(FinishResolution),
    /// Give back the worktree and delete the branch; commits outside the target and uncommitted
    /// work are kept under `refs/swarm/rescue/`. Done already: neither is there.
    ReleaseWorktree(ReleaseWorktree),
    /// Make a checkpoint: the work of each agent under private references, an annotated tag on the
    /// target's commit, the file last. Done already: the file is there and names this effect; the
    /// tag that is there and names this effect is kept.
    MakeCheckpoint(MakeCheckpoint),
    /// Remove a checkpoint's file, then its tag, then its private references but for those of
    /// `in_use`. Done already: none of them is there.
    DeleteCheckpoint(DeleteCheckpoint),
    /// See whether a rollback can be done: file, tag, commits, and the checkouts of the target.
    /// Changes nothing.
    CheckRollback(CheckRollback),
    /// Move the target from `expected` to `commit`, in any direction, by compare-and-swap; the
    /// user's checkout follows. Done already: the target is at `commit`.
    MoveTarget(MoveTarget),
    /// Move an inbox file that became an idea to `inbox/accepted/`. Done already: it is no longer
    /// in the inbox.
    ArchiveInbox(ArchiveInbox),
}

/// A landing, as the proof that a branch may go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Landing {
    /// The branch's last commit.
    pub tip: Oid,
    /// The branch that it landed on.
    pub target: String,
}

impl Effect {
    /// Whether it uses what the merge queue has one of: the target and the merge worktree.
    pub fn holds_queue(&self) -> bool {
        match self {
            Self::Run(run) => match run.purpose {
                Purpose::Verify { .. } => true,
                Purpose::Hook { hook, .. } => hook == HookName::PreMerge,
                Purpose::Iteration { .. } | Purpose::Gate { .. } => false,
            },
            Self::BuildMerge(_)
            | Self::PrepareVerify(_)
            | Self::Land(_)
            | Self::MakeCheckpoint(_)
            | Self::MoveTarget(_) => true,
            Self::PrepareWorktree(_)
            | Self::StopRun(_)
            | Self::Seal(_)
            | Self::SaveWork(_)
            | Self::StartResolution(_)
            | Self::FinishResolution(_)
            | Self::ReleaseWorktree(_)
            | Self::DeleteCheckpoint(_)
            | Self::CheckRollback(_)
            | Self::ArchiveInbox(_) => false,
        }
    }

    /// The run that it begins or ends.
    pub fn run_id(&self) -> Option<&RunId> {
        match self {
            Self::Run(it) => Some(&it.run),
            Self::StopRun(it) => Some(&it.run),
            Self::PrepareWorktree(_)
            | Self::Seal(_)
            | Self::SaveWork(_)
            | Self::BuildMerge(_)
            | Self::PrepareVerify(_)
            | Self::Land(_)
            | Self::StartResolution(_)
            | Self::FinishResolution(_)
            | Self::ReleaseWorktree(_)
            | Self::MakeCheckpoint(_)
            | Self::DeleteCheckpoint(_)
            | Self::CheckRollback(_)
            | Self::MoveTarget(_)
            | Self::ArchiveInbox(_) => None,
        }
    }

    /// Whether it makes a checkpoint.
    pub fn is_checkpoint(&self) -> bool {
        matches!(self, Self::MakeCheckpoint(_))
    }

    /// Whether it belongs to this attempt, or to the merge of its idea. Ending a run and tidying up
    /// belong to nobody.
    pub fn works_for(&self, of: &AgentId, at: &IdeaId) -> bool {
        match self {
            Self::PrepareWorktree(it) => it.agent == *of,
            Self::Seal(it) => it.agent == *of,
            Self::SaveWork(it) => it.agent == *of,
            Self::Run(run) => match &run.purpose {
                Purpose::Iteration { agent, .. } | Purpose::Gate { agent, .. } => agent == of,
                Purpose::Verify { idea, .. } => idea == at,
                Purpose::Hook { agent, idea, .. } => {
                    agent.as_ref() == Some(of) || idea.as_ref() == Some(at)
                }
            },
            Self::BuildMerge(it) => it.idea == *at,
            Self::PrepareVerify(it) => it.idea == *at,
            Self::Land(it) => it.idea == *at,
            Self::StartResolution(it) => it.idea == *at,
            Self::FinishResolution(it) => it.idea == *at,
            Self::StopRun(_)
            | Self::ReleaseWorktree(_)
            | Self::ArchiveInbox(_)
            | Self::MakeCheckpoint(_)
            | Self::DeleteCheckpoint(_)
            | Self::CheckRollback(_)
            | Self::MoveTarget(_) => false,
        }
    }
}

/// The worktree of an attempt that ended, kept for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptWorktree {
    /// The worktree's name under `.swarm/worktrees/`.
    pub worktree: String,
    /// Its branch.
    pub branch: String,
    /// The commit that its attempt started from.
    pub base: Oid,
    /// Whose it was.
    pub agent: AgentId,
    /// Whether that attempt crashed, so that the next prompt carries a recovery context.
    pub crashed: bool,
    /// After a rollback: the work as a checkpoint kept it; there is no worktree and no branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Saved>,
}

/// Work that a checkpoint kept, by its commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Saved {
    /// Where the branch stood.
    pub tip: Oid,
    /// What was not committed, as a commit on top of that; none: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wip: Option<Oid>,
}

/// What a run is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Purpose {
    /// One invocation of the agent's CLI.
    Iteration {
        /// The agent.
        agent: AgentId,
        /// Which, from 1.
        iteration: u32,
        /// The profile that it runs under.
        profile: ProfileName,
    },
    /// A quality command in the attempt's worktree.
    Gate {
        /// The agent.
        agent: AgentId,
        /// Which of the quality commands, from 0.
        index: usize,
        /// The command.
        command: String,
    },
    /// A quality command on the merged tree.
    Verify {
        /// Whose work.
        idea: IdeaId,
        /// Which of the quality commands, from 0.
        index: usize,
        /// The command.
        command: String,
    },
    /// A hook's program.
    Hook {
        /// Which hook.
        hook: HookName,
        /// The event that the call is about.
        seq: u64,
        /// The attempt whose first iteration it can hold.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentId>,
        /// The idea whose landing it can hold.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idea: Option<IdeaId>,
    },
}

/// How a conflict can be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ConflictLevel {
    /// White space, formatting, adjacent lines: by itself.
    Simple,
    /// By a resolver agent.
    Medium,
    /// By a person.
    Complex,
}
