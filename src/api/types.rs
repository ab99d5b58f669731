//! What requests carry, bodies and parameters, and the small answers.
//!
//! Invariant: an unknown field or parameter is refused, so that a misspelt one is not lost in
//! silence.

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
    /// What is to be done.
    #[schema(example = "add a --version flag")]
    pub text: String,
    /// The ideas that must be done before.
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub after: Vec<IdeaId>,
    /// Free words; `critical` and `quick-win` weigh in the order.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Added to the score that orders ideas.
    #[serde(default)]
    pub priority: i64,
    /// The agent profile to use; none: the default one.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub profile: Option<ProfileName>,
}

impl From<AddIdea> for NewIdea {
    fn from(body: AddIdea) -> Self {
        Self {
            text: body.text,
            after: body.after,
            tags: body.tags,
            priority: body.priority,
            profile: body.profile,
            inbox: None,
        }
    }
}

/// A new checkpoint.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewCheckpoint {
    /// Its name: lower-case letters, digits and dashes.
    #[schema(value_type = String, example = "before-release")]
    pub name: CheckpointName,
}

/// What is approved of a hook.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApproveHook {
    /// What was looked at: git's object id of the file, or `gone` of one that is deleted; `@`; the
    /// landings that brought it, with commas.
    pub content: String,
}

/// How to roll back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollBack {
    /// Stay paused afterwards.
    #[serde(default)]
    pub pause: bool,
    /// The preview's `from`: if the target is elsewhere by now, nothing is done.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub from: Option<Oid>,
}

/// Rolled back.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    /// The event that says so.
    pub seq: u64,
    /// The checkpoint that undoes it.
    #[schema(value_type = String)]
    pub safety: CheckpointName,
}

/// What changes in an idea; what is left out stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditIdea {
    /// New text.
    #[serde(default)]
    pub text: Option<String>,
    /// New list of the ideas that must be done before.
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
            text: body.text,
            after: body.after,
            tags: body.tags,
            priority: body.priority,
        }
    }
}

/// Who is to work on an idea.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AssignIdea {
    /// The profile; none: the idea's own or the default one.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub profile: Option<ProfileName>,
}

/// What takes an agent's place.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Redirect {
    /// The other idea: pending, and nothing that it waits for is left.
    #[schema(value_type = String, example = "idea-007")]
    pub idea: IdeaId,
    /// In a worktree of its own; left out: in the agent's, with the work so far in it.
    #[serde(default)]
    pub new_worktree: bool,
}

/// What an agent is told with its next prompt.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Say {
    /// What.
    pub text: String,
}

/// A pause.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pause {
    /// Why, for the people who read the status.
    #[serde(default)]
    pub reason: Option<String>,
}

/// What to do after the target was force-pushed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettleTarget {
    /// `rebase`: replay finished work onto the new target; `ignore`: merge as it is; `cancel`: give
    /// up what waits.
    #[schema(schema_with = crate::view::schema::words::<TargetChoice>)]
    pub choice: TargetChoice,
}

/// How the daemon ends.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Shutdown {
    /// Leave the agents running under their runners; the next start adopts them.
    #[serde(default)]
    pub keep_agents: bool,
    /// Do not wait for safe boundaries: end running iterations at once. Their worktrees are kept.
    #[serde(default)]
    pub now: bool,
}

/// No body, or `{}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Which ideas.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct IdeaFilter {
    /// Only those of this status.
    #[serde(default)]
    #[param(schema_with = crate::view::schema::words::<IdeaStatus>, required = false)]
    pub status: Option<IdeaStatus>,
}

/// Which output of an agent.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// So many lines from the end; left out: 200.
    #[serde(default)]
    pub lines: Option<u64>,
    /// Go on with what comes, over later runs, until the agent has ended.
    #[serde(default)]
    pub follow: bool,
    /// Only this run.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub run: Option<RunId>,
    /// The bytes that it wrote, where they are no text for people.
    #[serde(default)]
    pub raw: bool,
}

/// From when.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReportQuery {
    /// A time; left out: from the beginning.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub since: Option<Timestamp>,
}

/// What is over for long enough is to go.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Clean {
    /// Remove nothing; say what would go.
    #[serde(default)]
    pub dry_run: bool,
}

/// Which events, and how.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Those after this sequence number; left out: from the first. The header `Last-Event-ID` goes
    /// before it.
    #[serde(default)]
    pub since: Option<u64>,
    /// Only of this kind.
    #[serde(default)]
    pub kind: Option<String>,
    /// At most so many. As an array: left out, or more than 1000: 1000. As a stream: left out: all.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Go on with what comes. Left out: yes for server-sent events, else no.
    #[serde(default)]
    pub follow: Option<bool>,
}

/// A command is on disk.
#[derive(Debug, Serialize, ToSchema)]
pub struct Done {
    /// The last of its events; of a command that changed nothing: the last event there was.
    pub seq: u64,
}

/// A change of an idea is on disk.
#[derive(Debug, Serialize, ToSchema)]
pub struct Edited {
    /// The last of its events; of a change that changed nothing: the last event there was.
    pub seq: u64,
    /// For whom the new text is, where an agent works on the idea.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub note: Option<String>,
}

/// An idea is on disk.
#[derive(Debug, Serialize, ToSchema)]
pub struct Added {
    /// Its id.
    #[schema(value_type = String, example = "idea-001")]
    pub id: IdeaId,
    /// The last of its events.
    pub seq: u64,
}

/// The daemon is there.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// Its process id.
    pub pid: u32,
    /// Its version.
    pub version: &'static str,
    /// The repository's root.
    pub repo: String,
    /// The last event.
    pub last_seq: u64,
}
