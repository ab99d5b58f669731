//! Effects: what the shell must do. An effect is journaled as requested before anything is done,
//! and stays in the outbox until its outcome is journaled.
//!
//! Invariant: after a restart the whole outbox is dispatched again, so delivery is at least once.
//! Each variant says how its driver detects that it is already done. `decide` requests effects,
//! `daemon` carries them out. One file per family: `work`, `merge`, `checkpoint`,
//! `notify`, `replay`.

mod checkpoint;
mod merge;
mod notify;
mod replay;
mod work;

use serde::{Deserialize, Serialize};

use crate::domain::hook::HookName;
use crate::domain::ids::{AgentId, IdeaId, Oid, ProfileName, RunId};

pub use checkpoint::*;
pub use merge::*;
pub use notify::*;
pub use replay::*;
pub use work::*;

/// Something to do outside the log, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::From)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// Make the worktree of an attempt on a new branch from the target, or take over the kept
    /// worktree of an earlier attempt with all its files. Already done: the worktree is registered,
    /// complete and on its branch.
    PrepareWorktree(PrepareWorktree),
    /// Run a child process under its runner until it ends. Already done: its directory contains
    /// `exit.json`. Still running: its lock is held; it is adopted. Neither, but `started.json`:
    /// its runner was killed; its remaining processes are killed and the run is lost.
    Run(Run),
    /// Stop a run with TERM, then KILL after its grace period; with `now`, KILL at once. Already
    /// done: no runner holds the run's lock.
    StopRun(StopRun),
    /// Read the tip of the attempt's branch; with `commit`, commit leftovers first. Already done:
    /// nothing is uncommitted.
    Seal(Seal),
    /// Commit the work in progress of a redirected attempt to its branch, and keep it under
    /// `refs/swarm/rescue/`. Already done: nothing is uncommitted, and the reference has the
    /// commit.
    SaveWork(SaveWork),
    /// Build the merged tree and its commit in memory; no reference moves. A repeated call gives
    /// the same object.
    BuildMerge(BuildMerge),
    /// Reset the merge worktree to this commit, for the quality commands. A repeated call gives the
    /// same tree.
    PrepareVerify(PrepareVerify),
    /// Reset the merge worktree, or that of controls, to the tip of the target, for the quality
    /// commands. A repeated call gives the tree of the tip at that moment.
    PrepareBaseline(PrepareBaseline),
    /// Move the target from `expected` to `commit` by compare-and-swap and update the user's
    /// checkout. Already done: the target contains `commit`.
    Land(Land),
    /// Merge the target into the attempt's worktree and leave conflicts there. Already done: the
    /// merge is in progress or in the branch.
    StartResolution(StartResolution),
    /// Finish that merge once nothing is in conflict. Already done: no merge is in progress, and
    /// the branch contains the target's commit.
    FinishResolution(FinishResolution),
    /// Release the worktree and delete the branch; commits outside the target and uncommitted work
    /// are kept under `refs/swarm/rescue/`. Already done: neither exists.
    ReleaseWorktree(ReleaseWorktree),
    /// Release the worktree of finished work, unless it holds something that is not on its branch;
    /// the branch stays. Already done: the worktree does not exist.
    LendWorktree(LendWorktree),
    /// Make a checkpoint: each agent's work and the file under private references, and last the
    /// reference to an annotated tag object on the target's commit. Already done: that reference
    /// exists, and the file names this effect.
    MakeCheckpoint(MakeCheckpoint),
    /// Delete a checkpoint's tag object's reference, then its file, then the references to work
    /// except those of `in_use`. Already done: none of them exists.
    DeleteCheckpoint(DeleteCheckpoint),
    /// Check whether a rollback is possible: file, tag object, commits, and the checkouts of the
    /// target. Changes nothing.
    CheckRollback(CheckRollback),
    /// Move the target from `expected` to `commit`, in any direction, by compare-and-swap and
    /// update the user's checkout. Already done: the target is at `commit`.
    MoveTarget(MoveTarget),
    /// Move an inbox file that became an idea to `inbox/accepted/`. Already done: it is no longer
    /// in the inbox.
    ArchiveInbox(ArchiveInbox),
    /// Send a notice to the webhook, with its event's number as its id. Already done: the state no
    /// longer has the notice. A repeated call sends the same id.
    Notify(Notify),
    /// Compare a replay with its record, write what that says beside the record, and remove the
    /// replay's worktree. Already done: the file beside the record names this run.
    JudgeReplay(JudgeReplay),
}

/// A landing, which proves that the branch may be deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Landing {
    /// Last commit of the branch.
    pub tip: Oid,
    /// Branch on which it landed.
    pub target: String,
}

impl Effect {
    /// Whether it uses the target or the merge worktree, of which the merge queue has only one.
    pub fn holds_queue(&self) -> bool {
        match self {
            Self::Run(run) => match run.purpose {
                Purpose::Verify { .. } | Purpose::Canary { .. } => true,
                Purpose::Baseline { tree, .. } => tree == TargetTree::Verify,
                Purpose::Hook { hook, .. } => hook == HookName::PreMerge,
                Purpose::Setup { ref tree, .. } => match tree {
                    SetupTree::Merged { .. } | SetupTree::Target => true,
                    SetupTree::Worktree { .. } | SetupTree::Control => false,
                },
                Purpose::Iteration { .. }
                | Purpose::Gate { .. }
                | Purpose::CommitHooks { .. }
                | Purpose::Synthesis { .. }
                | Purpose::Replay { .. } => false,
            },
            Self::PrepareBaseline(it) => it.tree == TargetTree::Verify,
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
            | Self::LendWorktree(_)
            | Self::DeleteCheckpoint(_)
            | Self::CheckRollback(_)
            | Self::ArchiveInbox(_)
            | Self::Notify(_)
            | Self::JudgeReplay(_) => false,
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
            | Self::PrepareBaseline(_)
            | Self::Land(_)
            | Self::StartResolution(_)
            | Self::FinishResolution(_)
            | Self::ReleaseWorktree(_)
            | Self::LendWorktree(_)
            | Self::MakeCheckpoint(_)
            | Self::DeleteCheckpoint(_)
            | Self::CheckRollback(_)
            | Self::MoveTarget(_)
            | Self::ArchiveInbox(_)
            | Self::Notify(_)
            | Self::JudgeReplay(_) => None,
        }
    }

    /// The attempt's worktree that it works in.
    pub fn worktree(&self) -> Option<&str> {
        match self {
            Self::PrepareWorktree(it) => Some(&it.worktree),
            Self::Seal(it) => Some(&it.worktree),
            Self::SaveWork(it) => Some(&it.worktree),
            Self::StartResolution(it) => Some(&it.worktree),
            Self::FinishResolution(it) => Some(&it.worktree),
            Self::ReleaseWorktree(it) => Some(&it.worktree),
            Self::LendWorktree(it) => Some(&it.worktree),
            // An agent's run is in the worktree of its attempt, which ends after it.
            Self::Run(_)
            | Self::StopRun(_)
            | Self::BuildMerge(_)
            | Self::PrepareVerify(_)
            | Self::PrepareBaseline(_)
            | Self::Land(_)
            | Self::MakeCheckpoint(_)
            | Self::DeleteCheckpoint(_)
            | Self::CheckRollback(_)
            | Self::MoveTarget(_)
            | Self::ArchiveInbox(_)
            | Self::Notify(_)
            | Self::JudgeReplay(_) => None,
        }
    }

    /// Whether it makes a checkpoint.
    pub fn is_checkpoint(&self) -> bool {
        matches!(self, Self::MakeCheckpoint(_))
    }

    /// Whether it tells the webhook.
    pub fn is_notice(&self) -> bool {
        matches!(self, Self::Notify(_))
    }

    /// Whether it moves the target to an idea's work.
    pub fn is_landing(&self) -> bool {
        matches!(self, Self::Land(_))
    }

    /// Whether it checks the untouched target.
    pub fn is_baseline(&self) -> bool {
        match self {
            Self::PrepareBaseline(_) => true,
            Self::Run(run) => run.purpose.checks_target(),
            Self::PrepareWorktree(_)
            | Self::StopRun(_)
            | Self::Seal(_)
            | Self::SaveWork(_)
            | Self::BuildMerge(_)
            | Self::PrepareVerify(_)
            | Self::Land(_)
            | Self::StartResolution(_)
            | Self::FinishResolution(_)
            | Self::ReleaseWorktree(_)
            | Self::LendWorktree(_)
            | Self::MakeCheckpoint(_)
            | Self::DeleteCheckpoint(_)
            | Self::CheckRollback(_)
            | Self::MoveTarget(_)
            | Self::ArchiveInbox(_)
            | Self::Notify(_)
            | Self::JudgeReplay(_) => false,
        }
    }

    /// Whether it belongs to this attempt or the merge of its idea. Stopping a run and cleanup
    /// belong to none.
    pub fn works_for(&self, of: &AgentId, at: &IdeaId) -> bool {
        match self {
            Self::PrepareWorktree(it) => it.agent == *of,
            Self::Seal(it) => it.agent == *of,
            Self::SaveWork(it) => it.agent == *of,
            Self::LendWorktree(it) => it.agent == *of,
            Self::Run(run) => match &run.purpose {
                Purpose::Iteration { agent, .. }
                | Purpose::Gate { agent, .. }
                | Purpose::CommitHooks { agent } => agent == of,
                Purpose::Verify { idea, .. } => idea == at,
                Purpose::Baseline { .. }
                | Purpose::Canary { .. }
                | Purpose::Synthesis { .. }
                | Purpose::Replay { .. } => false,
                Purpose::Setup { tree, .. } => match tree {
                    SetupTree::Worktree { agent } => agent == of,
                    SetupTree::Merged { idea } => idea == at,
                    SetupTree::Target | SetupTree::Control => false,
                },
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
            | Self::PrepareBaseline(_)
            | Self::ReleaseWorktree(_)
            | Self::ArchiveInbox(_)
            | Self::MakeCheckpoint(_)
            | Self::DeleteCheckpoint(_)
            | Self::CheckRollback(_)
            | Self::MoveTarget(_)
            | Self::Notify(_)
            | Self::JudgeReplay(_) => false,
        }
    }
}

/// Worktree of an ended attempt, kept for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptWorktree {
    /// Name of its worktree.
    pub worktree: String,
    /// Its branch.
    pub branch: String,
    /// Commit where its attempt started.
    pub base: Oid,
    /// Agent of that attempt.
    pub agent: AgentId,
    /// Whether that attempt crashed, so that the next prompt has a recovery context.
    pub crashed: bool,
    /// After a rollback: the work saved by a checkpoint; there is no worktree and no branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Saved>,
}

/// Work saved by a checkpoint, as commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Saved {
    /// Tip of the branch.
    pub tip: Oid,
    /// Commit on top of `tip` with the uncommitted files; `None` if there were none.
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
        /// Number of the iteration, from 1.
        iteration: u32,
        /// Profile that it runs under.
        profile: ProfileName,
    },
    /// A quality command in the attempt's worktree.
    Gate {
        /// The agent.
        agent: AgentId,
        /// Index in the quality commands, from 0.
        index: usize,
        /// The command.
        command: String,
    },
    /// The repository's commit hooks, on what an agent left uncommitted in its worktree.
    CommitHooks {
        /// The agent.
        agent: AgentId,
    },
    /// A quality command on the merged tree.
    Verify {
        /// Idea whose work is verified.
        idea: IdeaId,
        /// Index in the quality commands, from 0.
        index: usize,
        /// The command.
        command: String,
    },
    /// A quality command on the untouched target.
    Baseline {
        /// Index in the quality commands, from 0.
        index: usize,
        /// The command.
        command: String,
        /// Where it runs.
        #[serde(default, skip_serializing_if = "TargetTree::is_verify")]
        tree: TargetTree,
    },
    /// All quality commands on the target, in the merge worktree, with files hidden and replaced by
    /// garbage: whether they see the tree that they check.
    Canary {
        /// Commit of the target.
        commit: Oid,
        /// Digest of what the result depends on.
        digest: String,
    },
    /// A setup command, which makes a tree ready for use.
    Setup {
        /// Where it runs.
        tree: SetupTree,
        /// Index in the setup commands, from 0.
        index: usize,
        /// The command.
        command: String,
    },
    /// A call of a hook.
    Hook {
        /// The hook.
        hook: HookName,
        /// Sequence number of the event that the call is about.
        seq: u64,
        /// Attempt whose first iteration the hook can hold.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentId>,
        /// Idea whose landing the hook can hold.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idea: Option<IdeaId>,
    },
    /// One invocation of an agent's CLI that makes facts of new learnings, in an empty folder.
    Synthesis {
        /// Profile that it runs under.
        profile: ProfileName,
        /// Number of the last learning that it reads.
        up_to: u64,
    },
    /// One invocation of an agent's CLI that repeats a recorded iteration, in a worktree of its
    /// own. It never lands.
    Replay {
        /// Profile that it runs under.
        profile: ProfileName,
        /// Run of the recorded iteration.
        of: RunId,
        /// SHA-256 of the record's file, in hex.
        sha256: String,
    },
}

impl Purpose {
    /// Whether it checks the untouched target, probes it or sets it up for that.
    pub fn checks_target(&self) -> bool {
        matches!(
            self,
            Self::Baseline { .. }
                | Self::Canary { .. }
                | Self::Setup {
                    tree: SetupTree::Target | SetupTree::Control,
                    ..
                }
        )
    }
}

/// A tree that is set up before it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SetupTree {
    /// The worktree of an attempt.
    Worktree {
        /// Its agent.
        agent: AgentId,
    },
    /// The merged tree, in the merge worktree.
    Merged {
        /// Idea whose work is verified.
        idea: IdeaId,
    },
    /// The untouched target, in the merge worktree.
    Target,
    /// The untouched target, in the worktree of controls.
    Control,
}

/// Who can resolve a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ConflictLevel {
    /// swarm itself: whitespace, formatting, adjacent lines.
    Simple,
    /// A resolver agent.
    Medium,
    /// A person.
    Complex,
}
