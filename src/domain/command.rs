//! Commands of people and agents. A command results in events, or in a
//! [`Rejection`](super::rejection::Rejection).
//!
//! Invariant: repeating a command that has taken effect changes nothing. `api` and `cli` build
//! them, [`decide`](super::decide) decides on them.

use serde::{Deserialize, Serialize};

use super::hook::HookName;
use super::ids::{AgentId, CheckpointName, IdeaId, Oid, ProfileName, RunId};
use super::memory::MemoryCommand;
use super::settings::{Mode, Settings};
use super::state::transfer::agent::ImportedAgent;

/// A new idea.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct NewIdea {
    /// The work to do.
    pub text: String,
    /// Ideas that must be done first.
    #[serde(default)]
    pub after: Vec<IdeaId>,
    /// Free-form tags; `critical` and `quick-win` raise the score.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Added to the score that orders ideas.
    #[serde(default)]
    pub priority: i64,
    /// Agent profile; `None` for the default.
    #[serde(default)]
    pub profile: Option<ProfileName>,
    /// Source file, if the idea came from the inbox.
    #[serde(default)]
    pub inbox: Option<InboxFile>,
    /// Whether a person must approve its work even if `merge.autoMerge` is on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub review: bool,
    /// The agent that it goes on from, if its state was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Box<ImportedAgent>>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde asks for
fn is_false(flag: &bool) -> bool {
    !flag
}

/// A file of the inbox, identified by name and content, so that one file becomes one idea however
/// often it is seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxFile {
    /// File name in `.swarm/inbox/`.
    pub name: String,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
}

/// Changes to an idea; `None` leaves a field unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct IdeaEdit {
    /// New text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// New list of dependencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<IdeaId>>,
    /// New tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// New priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
}

/// An agent's state to go on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportAgent {
    /// The idea whose next attempts go on from it; `None` adds one.
    pub idea: Option<IdeaId>,
    /// Text of a new idea.
    pub text: String,
    /// Profile of the next attempts; `None` for the idea's own or the default.
    pub profile: Option<ProfileName>,
    /// The agent.
    pub imported: ImportedAgent,
}

/// What happens to landed ideas whose work the rewritten target lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TargetChoice {
    /// Their agents do them again, from the target as it is now.
    Redo,
    /// They stay done.
    Ignore,
    /// They are cancelled.
    Cancel,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Command {
    /// Add an idea to the backlog.
    AddIdea(NewIdea),
    /// Change an idea.
    EditIdea {
        /// The idea.
        id: IdeaId,
        /// The changes.
        edit: IdeaEdit,
    },
    /// Restart an idea that ended badly.
    RetryIdea {
        /// The idea.
        id: IdeaId,
    },
    /// Cancel an idea.
    CancelIdea {
        /// The idea.
        id: IdeaId,
    },
    /// Start this idea now, even in semi-auto mode.
    AssignIdea {
        /// The idea.
        id: IdeaId,
        /// Profile to use; `None` for the idea's own or the default.
        profile: Option<ProfileName>,
    },
    /// Do not start this idea, or start it again, until it is released.
    HoldIdea {
        /// The idea.
        id: IdeaId,
    },
    /// Let a held idea start again.
    UnholdIdea {
        /// The idea.
        id: IdeaId,
    },
    /// Stop an agent; its idea becomes pending again and its worktree is kept.
    StopAgent {
        /// The agent.
        id: AgentId,
    },
    /// Stop an agent and give its place to another idea; its own idea becomes pending again and its
    /// work is kept.
    RedirectAgent {
        /// The agent.
        id: AgentId,
        /// New idea of the agent.
        idea: IdeaId,
        /// Use a new worktree instead of the agent's current one.
        new_worktree: bool,
    },
    /// Let the next attempts at an idea go on from an agent's exported state.
    ImportAgent(Box<ImportAgent>),
    /// Send a message to an agent with its next prompt.
    SayToAgent {
        /// The agent.
        id: AgentId,
        /// Text of the message.
        text: String,
    },
    /// Start nothing new; hold running attempts after their current iteration.
    Pause {
        /// Reason, shown in the status.
        reason: Option<String>,
    },
    /// End the pause.
    Resume,
    /// Retry a waiting merge now.
    RetryMerge {
        /// The idea.
        id: IdeaId,
    },
    /// Approve work that waits for review: it lands when its merge has passed the checks.
    ApproveMerge {
        /// The idea.
        id: IdeaId,
        /// Commit of the branch that the person saw; `None` for the one that waits now.
        commit: Option<Oid>,
    },
    /// Return work that waits for review to its agent.
    RejectMerge {
        /// The idea.
        id: IdeaId,
        /// The reviewer's comment, for the agent's next prompt.
        why: String,
    },
    /// Report that a person has resolved the conflict in the worktree.
    ResolveMerge {
        /// The idea.
        id: IdeaId,
    },
    /// Choose what happens to landed ideas whose work the rewritten target lacks.
    SettleTarget {
        /// The choice.
        choice: TargetChoice,
    },
    /// Create a checkpoint.
    CreateCheckpoint {
        /// Name of the checkpoint.
        name: CheckpointName,
        /// Whether to make a tag that other tools see, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tag: bool,
    },
    /// Delete a checkpoint.
    DeleteCheckpoint {
        /// Name of the checkpoint.
        name: CheckpointName,
    },
    /// Roll the target and the ideas back to a checkpoint.
    RollBack {
        /// Name of the checkpoint.
        name: CheckpointName,
        /// Whether the swarm stays paused afterwards. If not, an earlier pause ends too.
        pause: bool,
        /// Target commit that the person confirmed; if it has moved, nothing is done.
        from: Option<Oid>,
    },
    /// Take back the last rollback, cancellation or redirect.
    Undo {
        /// Number of the action, as shown to the person; unless it is the last one, nothing is
        /// done.
        seq: u64,
        /// For a rollback: target commit that the person confirmed.
        from: Option<Oid>,
    },
    /// Approve a hook that an agent's landed work changed.
    ApproveHook {
        /// Name of the hook.
        hook: HookName,
        /// What was approved: the git object id of its content, or `gone`; `@`; the landings that
        /// changed it, separated by commas.
        content: String,
    },
    /// Replay a recorded iteration and compare the result.
    ReplayRecord {
        /// Run of the recorded iteration.
        of: RunId,
        /// SHA-256 of the record's file, in hex.
        sha256: String,
        /// Profile to run under.
        profile: ProfileName,
    },
    /// Change the memory that agents share.
    Memory(MemoryCommand),
    /// Load the current configuration.
    LoadSettings {
        /// SHA-256 of the effective configuration.
        hash: String,
        /// Settings that decisions depend on.
        settings: Box<Settings>,
    },
    /// Override the configured mode.
    SetMode {
        /// The mode.
        mode: Mode,
    },
    /// Shut down the daemon.
    Shutdown {
        /// Leave agents running under their runners.
        keep_agents: bool,
    },
    /// Shut down without waiting for iterations to end, even if a shutdown is in progress.
    ShutdownNow,
}
