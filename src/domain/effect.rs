//! What the shell must do. An effect is a fact: it is journaled as requested before anything is done, and stays in the outbox until
//! its outcome is journaled. After a restart the whole outbox is dispatched again, so delivery is at least once, and each variant
//! says how its driver sees that it is done already.

use serde::{Deserialize, Serialize};

use super::checkpoint::Reason;
use super::hook::HookName;
use super::ids::{AgentId, CheckpointName, IdeaId, Oid, ProfileName, RunId};
use super::time::Timestamp;

/// Something to be done outside, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Effect {
    /// Make the worktree of an attempt, on a new branch from the target, or take over the kept worktree of an earlier attempt with all
    /// that lies in it. Done already: the worktree is registered, complete and on its branch.
    PrepareWorktree {
        /// Whose.
        agent: AgentId,
        /// For what.
        idea: IdeaId,
        /// The new branch.
        branch: String,
        /// The new worktree's name under `.swarm/worktrees/`.
        worktree: String,
        /// The branch to start from, by its commit at that moment.
        target: String,
        /// The kept worktree to take over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<KeptWorktree>,
    },
    /// Run a child process under its runner until it ends. Done already: its directory holds `exit.json`; still running: its lock is
    /// held, and it is adopted; neither, but `started.json`: its runner was killed, what is left of its tree is ended and the run is lost.
    Run {
        /// Which run; also its directory.
        run: RunId,
        /// What for.
        purpose: Purpose,
        /// How long it may take.
        timeout_ms: i64,
    },
    /// End a run: TERM, then KILL after its grace; `now`: KILL. Done already: no runner holds the run's lock.
    StopRun {
        /// Which.
        run: RunId,
        /// Without grace.
        now: bool,
    },
    /// Look where the attempt's branch stands and, when `commit` is set, commit what was left uncommitted. Done already: nothing is
    /// left uncommitted.
    Seal {
        /// Whose.
        agent: AgentId,
        /// For what.
        idea: IdeaId,
        /// The attempt's branch.
        branch: String,
        /// The worktree's name.
        worktree: String,
        /// The commit that the attempt started from.
        base: Oid,
        /// Whether leftovers are committed.
        commit: bool,
        /// The commit's date, so that a redo gives the same object.
        at: Timestamp,
    },
    /// Commit the work in progress of an attempt that is redirected to its branch, and keep that under `refs/swarm/rescue/`. Done
    /// already: nothing is left uncommitted, and the reference has the commit.
    SaveWork {
        /// Whose.
        agent: AgentId,
        /// For what.
        idea: IdeaId,
        /// The attempt's branch.
        branch: String,
        /// The worktree's name.
        worktree: String,
        /// The commit that the attempt started from.
        base: Oid,
        /// The commit's date, so that a redo gives the same object.
        at: Timestamp,
    },
    /// Build the merged tree and its commit in memory; no reference moves. A redo gives the same object.
    BuildMerge {
        /// Whose work.
        idea: IdeaId,
        /// The attempt's branch.
        branch: String,
        /// The commit to merge.
        source: Oid,
        /// The commit that the attempt started from.
        base: Oid,
        /// The branch to merge into.
        target: String,
        /// Where the target stood when it was last seen; another history there means a force-push.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        known_target: Option<Oid>,
        /// After a force-push: replay the own commits onto the new target first.
        rebase: bool,
        /// First line of the idea, for the message.
        title: String,
        /// The commit's date, so that a redo gives the same object.
        at: Timestamp,
    },
    /// Bring the merge worktree to this commit, for the quality commands. A redo gives the same tree.
    PrepareVerify {
        /// Whose work.
        idea: IdeaId,
        /// The merged commit.
        commit: Oid,
    },
    /// Move the target from `expected` to `commit` by compare-and-swap; the user's checkout follows. Done already: the target contains `commit`.
    Land {
        /// Whose work.
        idea: IdeaId,
        /// The target branch.
        target: String,
        /// Where it must stand.
        expected: Oid,
        /// Where it goes.
        commit: Oid,
    },
    /// Merge the target into the attempt's worktree, conflicts left there. Done already: the merge is in progress or in the branch.
    StartResolution {
        /// Whose work.
        idea: IdeaId,
        /// The attempt's branch.
        branch: String,
        /// The worktree's name.
        worktree: String,
        /// The target's commit.
        target: Oid,
        /// The work that is merged: the branch's commit when it was queued.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Oid>,
        /// The merge commit's date.
        at: Timestamp,
    },
    /// Conclude that merge when nothing is left in conflict. Done already: no merge is in progress, and the branch contains the target's
    /// commit.
    FinishResolution {
        /// Whose work.
        idea: IdeaId,
        /// The attempt's branch.
        branch: String,
        /// The worktree's name.
        worktree: String,
        /// The target's commit that is being merged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<Oid>,
        /// The work that is merged: the branch's commit when it was queued.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Oid>,
        /// The merge commit's date.
        at: Timestamp,
    },
    /// Give back the worktree and delete the branch; commits outside the target and uncommitted work are kept under
    /// `refs/swarm/rescue/`. Done already: neither is there.
    ReleaseWorktree {
        /// The worktree's name.
        worktree: String,
        /// Its branch.
        branch: String,
        /// After a landing: what the branch stood at and where it landed, to be proven before the branch goes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        landed: Option<Landing>,
        /// The date of a rescue commit, so that a redo gives the same object.
        at: Timestamp,
    },
    /// Make a checkpoint: the work of each agent under private references, an annotated tag on the target's commit, the file last. Done
    /// already: the file is there and names this effect; the tag that is there and names this effect is kept.
    MakeCheckpoint {
        /// Its name.
        name: CheckpointName,
        /// Why.
        reason: Reason,
        /// The branch whose commit it names.
        target: String,
        /// The date of its tag.
        at: Timestamp,
    },
    /// Remove a checkpoint's file, then its tag, then its private references but for those of `in_use`. Done already: none of them is there.
    DeleteCheckpoint {
        /// Which.
        name: CheckpointName,
        /// Agents whose work ideas go on from.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        in_use: Vec<AgentId>,
        /// Nobody asked for this: what it alone has, this commit and the work of agents, is kept under `refs/swarm/rescue/`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep: Option<Oid>,
    },
    /// See whether a rollback can be done: file, tag, commits, and the checkouts of the target. Changes nothing.
    CheckRollback {
        /// To which checkpoint.
        name: CheckpointName,
        /// Its commit.
        commit: Oid,
        /// Its tag's object.
        tag: Oid,
        /// SHA-256 of its file.
        sha256: String,
        /// The target branch.
        target: String,
        /// Always `false`, see [`Rollback::stash`](super::checkpoint::Rollback).
        stash: bool,
        /// Where the target stood for whoever said yes; elsewhere, nothing is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Oid>,
    },
    /// Move the target from `expected` to `commit`, in any direction, by compare-and-swap; the user's checkout follows. Done already: the target is at `commit`.
    MoveTarget {
        /// The target branch.
        target: String,
        /// Where it must stand.
        expected: Oid,
        /// Where it goes.
        commit: Oid,
        /// Always `None`; older versions named what they put aside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stash: Option<String>,
        /// When the rollback was asked for.
        at: Timestamp,
    },
    /// Move an inbox file that became an idea to `inbox/accepted/`. Done already: it is no longer in the inbox.
    ArchiveInbox {
        /// The file's name.
        name: String,
        /// SHA-256 of the content that was taken; a file with another content is a new idea.
        sha256: String,
    },
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
            Self::Run { purpose, .. } => match purpose {
                Purpose::Verify { .. } => true,
                Purpose::Hook { hook, .. } => *hook == HookName::PreMerge,
                Purpose::Iteration { .. } | Purpose::Gate { .. } => false,
            },
            Self::BuildMerge { .. }
            | Self::PrepareVerify { .. }
            | Self::Land { .. }
            | Self::MakeCheckpoint { .. }
            | Self::MoveTarget { .. } => true,
            _ => false,
        }
    }

    /// Whether it makes a checkpoint.
    pub fn is_checkpoint(&self) -> bool {
        matches!(self, Self::MakeCheckpoint { .. })
    }

    /// Whether it belongs to this attempt, or to the merge of its idea. Ending a run and tidying up belong to nobody.
    pub fn works_for(&self, of: &AgentId, at: &IdeaId) -> bool {
        match self {
            Self::PrepareWorktree { agent, .. }
            | Self::Seal { agent, .. }
            | Self::SaveWork { agent, .. } => agent == of,
            Self::Run { purpose, .. } => match purpose {
                Purpose::Iteration { agent, .. } | Purpose::Gate { agent, .. } => agent == of,
                Purpose::Verify { idea, .. } => idea == at,
                Purpose::Hook { agent, idea, .. } => {
                    agent.as_ref() == Some(of) || idea.as_ref() == Some(at)
                }
            },
            Self::BuildMerge { idea, .. }
            | Self::PrepareVerify { idea, .. }
            | Self::Land { idea, .. }
            | Self::StartResolution { idea, .. }
            | Self::FinishResolution { idea, .. } => idea == at,
            Self::StopRun { .. }
            | Self::ReleaseWorktree { .. }
            | Self::ArchiveInbox { .. }
            | Self::MakeCheckpoint { .. }
            | Self::DeleteCheckpoint { .. }
            | Self::CheckRollback { .. }
            | Self::MoveTarget { .. } => false,
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
        /// Whose.
        agent: AgentId,
        /// Which, from 1.
        iteration: u32,
        /// The profile that it runs under.
        profile: ProfileName,
    },
    /// A quality command in the attempt's worktree.
    Gate {
        /// Whose.
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
