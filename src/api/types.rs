//! Request bodies and parameters, and small answers.
//!
//! Invariant: an unknown field or parameter is refused, so that a misspelt one is never ignored.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::domain::command::{IdeaEdit, NewIdea, TargetChoice};
use crate::domain::ids::{CheckpointName, IdeaId, Oid, ProfileName, RunId};
use crate::domain::state::IdeaStatus;
use crate::domain::time::Timestamp;

/// How long an answer waits for the judgement of a resolution.
pub const JUDGEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// A new idea.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddIdea {
    /// What to do.
    #[schema(example = "add a --version flag")]
    pub content: String,
    /// The ideas that must be done first.
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub after: Vec<IdeaId>,
    /// Tags; `critical` and `quick-win` raise the idea in the order.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Added to the score that orders ideas.
    #[serde(default)]
    pub priority: i64,
    /// The agent profile to use; default: the default profile.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub profile: Option<ProfileName>,
    /// Have a person approve its work even if `merge.autoMerge` is on.
    #[serde(default)]
    pub review: bool,
}

impl From<AddIdea> for NewIdea {
    fn from(body: AddIdea) -> Self {
        Self {
            text: body.content,
            after: body.after,
            tags: body.tags,
            priority: body.priority,
            profile: body.profile,
            inbox: None,
            review: body.review,
            imported: None,
        }
    }
}

/// A new checkpoint.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewCheckpoint {
    /// The checkpoint's name: lower-case letters, digits and dashes.
    #[schema(value_type = String, example = "before-release")]
    pub name: CheckpointName,
    /// Also create the tag `swarm/checkpoint/NAME`.
    #[serde(default)]
    pub tag: bool,
}

/// The content of a hook to approve.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApproveHook {
    /// The content that was reviewed: the file's git object id, or `gone` for a deleted file; then
    /// `@`; then the landings that changed it, separated by commas.
    pub content: String,
}

/// Options of a rollback.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollBack {
    /// Stay paused afterwards, which is the default. With `false` work goes on at once, and an
    /// earlier pause ends.
    #[serde(default = "paused")]
    pub pause: bool,
    /// The preview's `from`; if the target has moved since, nothing is done.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub from: Option<Oid>,
}

const fn paused() -> bool {
    true
}

/// The result of a rollback.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    /// The sequence number of the event that completed it.
    pub seq: u64,
    /// The checkpoint to roll back to in order to undo it.
    #[schema(value_type = String)]
    pub safety: CheckpointName,
}

/// What to take back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Undo {
    /// The preview's `seq`; if something else was done since, nothing is done.
    pub seq: u64,
    /// For a rollback: the target's commit in the checkpoint's preview; if the target has moved
    /// since, nothing is done.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub from: Option<Oid>,
}

/// The action was taken back.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Undone {
    /// The sequence number of its last event.
    pub seq: u64,
    /// For a rollback: the checkpoint to roll back to in order to go forward again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub safety: Option<CheckpointName>,
}

/// Changes to an idea; omitted fields stay as they are.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditIdea {
    /// New text.
    #[serde(default)]
    pub content: Option<String>,
    /// New list of ideas that must be done first.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>)]
    pub after: Option<Vec<IdeaId>>,
    /// New tags.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    /// New priority.
    #[serde(default)]
    pub priority: Option<i64>,
}

impl From<EditIdea> for IdeaEdit {
    fn from(body: EditIdea) -> Self {
        Self {
            text: body.content,
            after: body.after,
            tags: body.tags,
            priority: body.priority,
        }
    }
}

/// How to assign an idea.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AssignIdea {
    /// The agent profile to use; default: the idea's own, or the default profile.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub profile: Option<ProfileName>,
}

/// A redirect of an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Redirect {
    /// The idea that takes the agent's place; it must be pending and ready to start.
    #[schema(value_type = String, example = "idea-007")]
    pub idea_id: IdeaId,
    /// Start it in a new worktree; default: in the agent's worktree, with the work in it.
    #[serde(default)]
    pub new_worktree: bool,
}

/// A message for an agent, delivered with its next prompt.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Say {
    /// The message.
    pub text: String,
}

/// A pause.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pause {
    /// The reason, shown in the status.
    #[serde(default)]
    pub reason: Option<String>,
}

/// What happens to landed ideas whose work the rewritten target lacks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettleTarget {
    /// `redo`: agents do them again; `ignore`: they stay done; `cancel`: they are cancelled.
    #[schema(schema_with = crate::view::schema::words::<TargetChoice>)]
    pub choice: TargetChoice,
}

/// An approval of finished work.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Approve {
    /// The `source` commit that the person saw. If another one waits now, nothing is done and the
    /// error's `current` names it. Default: the commit that waits now.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub commit: Option<Oid>,
}

/// A reviewer's comment on finished work.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reject {
    /// What must change; it goes into the agent's next prompt.
    pub why: String,
}

/// How to stop the daemon.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Shutdown {
    /// Leave the agents running; the next start adopts them.
    #[serde(default)]
    pub keep_agents: bool,
    /// Stop running iterations at once instead of letting them finish. Worktrees are kept.
    #[serde(default)]
    pub now: bool,
}

/// An empty body, or `{}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct Nothing {}

/// Filters ideas.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct IdeaFilter {
    /// Only ideas with this status.
    #[serde(default)]
    #[param(schema_with = crate::view::schema::words::<IdeaStatus>, required = false)]
    pub status: Option<IdeaStatus>,
    /// Whether open ideas come first, in the order of their start, each with what it used.
    #[serde(default)]
    pub open_first: Option<bool>,
}

/// Selects an agent's output.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// Only the last `lines` lines; default: 200.
    #[serde(default)]
    pub lines: Option<u64>,
    /// Keep sending new output until the agent has ended.
    #[serde(default)]
    pub follow: bool,
    /// Only the output of this run.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub run: Option<RunId>,
    /// The program's output unchanged, not as text for people.
    #[serde(default)]
    pub raw: bool,
}

/// The period of a report.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReportQuery {
    /// The start of the period; default: everything.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub since: Option<Timestamp>,
}

/// Which action an undo is about.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UndoQuery {
    /// Skip approvals whose work has landed, which cannot be taken back.
    #[serde(default)]
    pub skip_landed: bool,
}

/// How to import an agent's state.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ImportAgentQuery {
    /// The idea that goes on from it: pending, failed, blocked or timed out. Without it, one is
    /// added.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub idea_id: Option<IdeaId>,
    /// The profile of the next attempts. Default: the agent's own if it is configured here, else
    /// the idea's, else the default one.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub profile: Option<ProfileName>,
    /// Check the file and answer what would happen, but change nothing.
    #[serde(default)]
    pub check: bool,
}

/// Options of a clean.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Clean {
    /// Remove nothing; list what would be removed.
    #[serde(default)]
    pub dry_run: bool,
}

/// Selects events.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Only events after this sequence number; default: all. The header `Last-Event-ID` overrides
    /// it.
    #[serde(default)]
    pub since: Option<u64>,
    /// Only events of this kind.
    #[serde(default)]
    pub kind: Option<String>,
    /// At most this many events. Default: 1000 for an array, which is also its maximum; all for a
    /// stream.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Keep sending new events. Default: true for server-sent events, otherwise false.
    #[serde(default)]
    pub follow: Option<bool>,
}

/// The command is on disk.
#[derive(Debug, Serialize, ToSchema)]
pub struct Done {
    /// The sequence number of the command's last event, or of the log's last event if the command
    /// changed nothing.
    pub seq: u64,
}

/// The change of an idea is on disk.
#[derive(Debug, Serialize, ToSchema)]
pub struct Edited {
    /// The sequence number of the change's last event, or of the log's last event if nothing
    /// changed.
    pub seq: u64,
    /// A note that a running agent continues as before: with the old text, or though its idea is
    /// held.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub note: Option<String>,
}

/// The new idea is on disk.
#[derive(Debug, Serialize, ToSchema)]
pub struct Added {
    /// The idea's id.
    #[schema(value_type = String, example = "idea-001")]
    pub id: IdeaId,
    /// The sequence number of its event.
    pub seq: u64,
}

/// The daemon is running.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// The daemon's process id.
    pub pid: u32,
    /// The daemon's version.
    pub version: &'static str,
    /// The repository's root.
    pub repo: String,
    /// The sequence number of the last event.
    pub last_seq: u64,
}

/// A link to the web page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageLink {
    /// The link; it opens one session.
    pub url: String,
    /// For how many seconds it can be used.
    pub seconds: u64,
}
