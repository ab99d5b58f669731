//! What people and agents ask for. A command is answered with the events it led to, or with a
//! [`Rejection`](super::rejection::Rejection).

use serde::{Deserialize, Serialize};

use super::hook::HookName;
use super::ids::{AgentId, CheckpointName, IdeaId, Oid, ProfileName};
use super::settings::{Mode, Settings};

/// A new unit of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct NewIdea {
    /// What is to be done.
    pub text: String,
    /// The ideas that must be done before.
    #[serde(default)]
    pub after: Vec<IdeaId>,
    /// Free words; `critical` and `quick-win` weigh in the order.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Added to the score that orders ideas.
    #[serde(default)]
    pub priority: i64,
    /// The agent profile to use; none: the default one.
    #[serde(default)]
    pub profile: Option<ProfileName>,
    /// Set when the idea was dropped into the inbox.
    #[serde(default)]
    pub inbox: Option<InboxFile>,
}

/// A file of the inbox, by name and content: the same file is one idea, however often it is seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxFile {
    /// The file's name inside `.swarm/inbox/`.
    pub name: String,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
}

/// What changes in an idea; `None` leaves as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct IdeaEdit {
    /// New text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// New list of ideas that come before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<IdeaId>>,
    /// New tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// New priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
}

/// What to do with the merge queue after the target was force-pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TargetChoice {
    /// Replay the waiting work's own commits onto the new target.
    Rebase,
    /// Merge as it is: commits that the force-push dropped may come back.
    Ignore,
    /// Take the waiting ideas out of the queue and cancel them; their commits are kept.
    Cancel,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Command {
    /// Add an idea to the backlog.
    AddIdea(NewIdea),
    /// Change an idea.
    EditIdea {
        /// The idea.
        id: IdeaId,
        /// What changes.
        edit: IdeaEdit,
    },
    /// Give an idea that ended badly a fresh start.
    RetryIdea {
        /// The idea.
        id: IdeaId,
    },
    /// Do not do this idea.
    CancelIdea {
        /// The idea.
        id: IdeaId,
    },
    /// Have this idea done, now, also in semi-auto mode.
    AssignIdea {
        /// The idea.
        id: IdeaId,
        /// By which profile; none: its own or the default one.
        profile: Option<ProfileName>,
    },
    /// End an agent; its idea is pending again, its worktree kept.
    StopAgent {
        /// The agent.
        id: AgentId,
    },
    /// End an agent and give its place to another idea; its own idea is pending again, its work
    /// kept.
    RedirectAgent {
        /// The agent.
        id: AgentId,
        /// The other idea.
        idea: IdeaId,
        /// In a worktree of its own, instead of this one with the work in it.
        new_worktree: bool,
    },
    /// Tell an agent something with its next prompt.
    SayToAgent {
        /// The agent.
        id: AgentId,
        /// What.
        text: String,
    },
    /// Start nothing new; hold running attempts at their boundary.
    Pause {
        /// Why, for the people who read the status.
        reason: Option<String>,
    },
    /// Go on after a pause.
    Resume,
    /// Let a waiting merge try again now.
    RetryMerge {
        /// The idea.
        id: IdeaId,
    },
    /// A person has settled the conflict in the worktree.
    ResolveMerge {
        /// The idea.
        id: IdeaId,
    },
    /// What to do after the target was force-pushed.
    SettleTarget {
        /// The choice.
        choice: TargetChoice,
    },
    /// Make a checkpoint.
    CreateCheckpoint {
        /// Its name.
        name: CheckpointName,
    },
    /// Remove a checkpoint.
    DeleteCheckpoint {
        /// The checkpoint's name.
        name: CheckpointName,
    },
    /// Take the target and the ideas back to a checkpoint.
    RollBack {
        /// The checkpoint's name.
        name: CheckpointName,
        /// Stay paused afterwards.
        pause: bool,
        /// Where the target stood for whoever said yes; elsewhere, nothing is done.
        from: Option<Oid>,
    },
    /// A person has looked at what an agent's landed work made of a hook.
    ApproveHook {
        /// The hook's name.
        hook: HookName,
        /// What was looked at: git's object id of its content, or `gone`; `@`; the landings that
        /// brought it, with commas.
        content: String,
    },
    /// The configuration as it is now.
    LoadSettings {
        /// SHA-256 of the effective configuration.
        hash: String,
        /// What decisions need of it.
        settings: Box<Settings>,
    },
    /// Work in another mode until the configuration says otherwise.
    SetMode {
        /// The mode.
        mode: Mode,
    },
    /// End the daemon.
    Shutdown {
        /// Leave the agents running under their runners.
        keep_agents: bool,
    },
    /// End the daemon without waiting for safe boundaries, also while it is ending already.
    ShutdownNow,
}
