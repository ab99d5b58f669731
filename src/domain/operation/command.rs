//! Commands of people and agents: everything that changes a swarm. A command results in events, or
//! in a [`Rejection`](crate::domain::rejection::Rejection).
//!
//! Invariant: repeating a command that has taken effect changes nothing. Its serde form is what
//! clients send: an object whose `do` names the command, with no unknown field. Each has
//! its row in the table of [`operation`](super); [`decide`](crate::domain::decide) has its rule.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::hook::HookName;
use crate::domain::ids::{AgentId, CheckpointName, IdeaId, Oid, ProfileName, RunId};
use crate::domain::memory::MemoryCommand;
use crate::domain::settings::{Mode, Settings};
use crate::domain::state::transfer::agent::ImportedAgent;

/// A new idea.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewIdea {
    /// The work to do.
    #[serde(rename = "content")]
    #[schema(example = "add a --version flag")]
    pub text: String,
    /// The ideas that must be done first.
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub after: Vec<IdeaId>,
    /// Free-form tags; `critical` and `quick-win` raise the idea in the order.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Added to the score that orders ideas.
    #[serde(default)]
    pub priority: i64,
    /// The agent profile to use; default: the default profile.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub profile: Option<ProfileName>,
    /// Source file, if the idea came from the inbox. Set by the daemon alone.
    #[serde(default)]
    #[schema(ignore)]
    pub inbox: Option<InboxFile>,
    /// Have a person approve its work even if `merge.autoMerge` is on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub review: bool,
    /// The agent that it goes on from, if its state was imported. Set by the daemon alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
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

/// Changes to an idea; a field that is left out stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IdeaEdit {
    /// New text.
    #[serde(default, rename = "content", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// New list of ideas that must be done first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum TargetChoice {
    /// Their agents do them again, from the target as it is now.
    Redo,
    /// They stay done.
    Ignore,
    /// They are cancelled.
    Cancel,
}

/// A command. `do` names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(
    tag = "do",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Command {
    /// Add an idea to the backlog.
    AddIdea(NewIdea),
    /// Change an idea.
    EditIdea {
        /// The idea.
        #[schema(value_type = String)]
        id: IdeaId,
        /// The changes.
        edit: IdeaEdit,
    },
    /// Give a failed, timed-out or blocked idea a fresh start, or continue an attempt that waits
    /// for a person.
    RetryIdea {
        /// The idea.
        #[schema(value_type = String)]
        id: IdeaId,
    },
    /// Cancel an idea and stop the agent that works on it.
    CancelIdea {
        /// The idea.
        #[schema(value_type = String)]
        id: IdeaId,
    },
    /// Start this idea now, even in semi-auto mode.
    AssignIdea {
        /// The idea.
        #[schema(value_type = String)]
        id: IdeaId,
        /// The agent profile to use; default: the idea's own, or the default profile.
        #[serde(default)]
        #[schema(value_type = Option<String>)]
        profile: Option<ProfileName>,
    },
    /// Do not start this idea, or start it again, until it is released. A running attempt goes on;
    /// the answer's `note` then says so.
    HoldIdea {
        /// The idea.
        #[schema(value_type = String)]
        id: IdeaId,
    },
    /// Let a held idea start again.
    UnholdIdea {
        /// The idea.
        #[schema(value_type = String)]
        id: IdeaId,
    },
    /// Stop an agent. Its idea becomes pending again and its worktree is kept.
    StopAgent {
        /// The agent.
        #[schema(value_type = String)]
        id: AgentId,
    },
    /// Stop an agent and give its place to another pending idea. Its work is committed, and its own
    /// idea becomes pending again and continues from that work.
    RedirectAgent {
        /// The agent.
        #[schema(value_type = String)]
        id: AgentId,
        /// The idea that takes the agent's place; it must be pending and ready to start.
        #[serde(rename = "ideaId")]
        #[schema(value_type = String, example = "idea-007")]
        idea: IdeaId,
        /// Start it in a new worktree; default: in the agent's worktree, with the work in it.
        #[serde(default, rename = "newWorktree")]
        new_worktree: bool,
    },
    /// Let the next attempts at an idea go on from an agent's exported state. It is sent as a file.
    #[serde(skip)]
    ImportAgent(Box<ImportAgent>),
    /// Send an agent a message with its next prompt.
    SayToAgent {
        /// The agent.
        #[schema(value_type = String)]
        id: AgentId,
        /// The message.
        text: String,
    },
    /// Start nothing new, and hold agents after their current iteration. A pause survives a
    /// restart.
    Pause {
        /// The reason, shown in the status.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Resume after a pause.
    Resume,
    /// Retry a waiting merge now. One that waits for review must be approved instead.
    RetryMerge {
        /// The idea whose merge.
        #[schema(value_type = String)]
        id: IdeaId,
    },
    /// Approve work that waits for review: it lands when its merge has passed the checks. 409
    /// `WORK_CHANGED` with `current`: another commit waits than the given one.
    ApproveMerge {
        /// The idea whose merge.
        #[schema(value_type = String)]
        id: IdeaId,
        /// The `source` commit that the person saw; default: the commit that waits now.
        #[serde(default)]
        #[schema(value_type = Option<String>)]
        commit: Option<Oid>,
    },
    /// Return work that waits for review to its agent, with a comment.
    RejectMerge {
        /// The idea whose merge.
        #[schema(value_type = String)]
        id: IdeaId,
        /// What must change; it goes into the agent's next prompt.
        why: String,
    },
    /// Continue a merge after its conflict was resolved in the worktree. The answer waits up to a
    /// minute for the check; 409 `NOT_RESOLVED` says what is still in conflict.
    ResolveMerge {
        /// The idea whose merge.
        #[schema(value_type = String)]
        id: IdeaId,
    },
    /// Choose what happens to landed ideas whose work is missing after the target was rewritten.
    SettleTarget {
        /// `redo`: agents do them again; `ignore`: they stay done; `cancel`: they are cancelled.
        choice: TargetChoice,
    },
    /// Create a checkpoint. The answer waits until it is created.
    CreateCheckpoint {
        /// Its name: lower-case letters, digits and dashes.
        #[schema(value_type = String, example = "before-release")]
        name: CheckpointName,
        /// Also create the tag `swarm/checkpoint/NAME`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tag: bool,
    },
    /// Delete a checkpoint with its file and references.
    DeleteCheckpoint {
        /// Its name.
        #[schema(value_type = String)]
        name: CheckpointName,
    },
    /// Roll the target and the ideas back to a checkpoint. The answer waits until it is done or
    /// abandoned; 409 `ROLLBACK_ABANDONED` says why.
    RollBack {
        /// Name of the checkpoint.
        #[schema(value_type = String)]
        name: CheckpointName,
        /// Stay paused afterwards, which is the default. With `false` work goes on at once, and an
        /// earlier pause ends.
        #[serde(default = "yes")]
        pause: bool,
        /// The preview's `from`; if the target has moved since, nothing is done.
        #[serde(default)]
        #[schema(value_type = Option<String>)]
        from: Option<Oid>,
    },
    /// Take back the last rollback, cancellation, approval or redirect. The answer to a rollback
    /// waits until it is done or abandoned.
    Undo {
        /// The preview's `seq`; if something else was done since, nothing is done.
        seq: u64,
        /// For a rollback: the target's commit in the checkpoint's preview; if the target has
        /// moved since, nothing is done.
        #[serde(default)]
        #[schema(value_type = Option<String>)]
        from: Option<Oid>,
    },
    /// Approve a hook that an agent's landed work changed: exactly this content.
    ApproveHook {
        /// Name of the hook.
        #[schema(value_type = String)]
        hook: HookName,
        /// The content that was reviewed: the file's git object id, or `gone` for a deleted file;
        /// then `@`; then the landings that changed it, separated by commas.
        content: String,
    },
    /// Replay a recorded iteration and compare the result. The daemon finds the record and sends
    /// this itself.
    #[serde(skip)]
    ReplayRecord {
        /// Run of the recorded iteration.
        of: RunId,
        /// SHA-256 of the record's file, in hex.
        sha256: String,
        /// Profile to run under.
        profile: ProfileName,
    },
    /// Change the memory that agents share. Clients send the [`MemoryCommand`] itself.
    #[serde(skip)]
    Memory(MemoryCommand),
    /// Load the current configuration, which the daemon reads itself.
    #[serde(skip)]
    LoadSettings {
        /// SHA-256 of the effective configuration.
        hash: String,
        /// Settings that decisions depend on.
        settings: Box<Settings>,
    },
    /// Override the configured mode until the daemon stops.
    SetMode {
        /// The mode.
        #[schema(value_type = String, example = "autopilot")]
        mode: Mode,
    },
    /// Stop the daemon when the running iterations have ended. The answer comes when the request is
    /// on disk; the daemon has stopped when its state lock is free.
    Shutdown {
        /// Leave the agents running; the next start adopts them.
        #[serde(default, rename = "keepAgents")]
        keep_agents: bool,
    },
    /// Stop the daemon at once, without waiting for iterations to end, even if a shutdown is in
    /// progress. Worktrees are kept.
    ShutdownNow,
}

const fn yes() -> bool {
    true
}
