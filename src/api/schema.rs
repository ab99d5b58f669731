//! The shapes of answers that are not views, for the API description. A test validates real answers
//! against them.
//!
//! Invariant: no value of these types is ever created.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;

use crate::view::schema::{kinds, time};

/// What a clean removed, or would remove.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct CleanReport {
    /// Nothing was removed; `removed` lists what would be.
    pub dry_run: bool,
    /// What was removed.
    pub removed: Vec<Removed>,
    /// Disk space of everything removed, in bytes.
    pub bytes: u64,
    /// What was kept, counted by reason.
    pub kept: KeptThings,
    /// What could not be removed.
    #[schema(required = false)]
    pub failed: Vec<NotRemoved>,
}

/// One thing that was removed.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Removed {
    /// What it was: `run`, `copy`, `import`, `repositories`, `worktree` or
    /// `leftover`.
    pub kind: String,
    /// Its path, relative to the repository's root.
    pub path: String,
    /// Its disk space in bytes.
    pub bytes: u64,
    /// Why it was removed.
    pub reason: String,
}

/// What was kept: for each kind, the counts by reason.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct KeptThings {
    /// Directories of runs: `inUse`, `unfinished`, `young`, `unknown`, `unreadable`.
    pub runs: BTreeMap<String, u64>,
    /// Copies in `state/`: `young`, `repairing`.
    pub copies: BTreeMap<String, u64>,
    /// Files of imported agents: `unfinished`, `young`.
    pub imports: BTreeMap<String, u64>,
    /// Folders with kept repositories: `inUse`, `unfinished`, `young`, `unknown`.
    pub repositories: BTreeMap<String, u64>,
    /// Unused worktrees: `daemonRuns`, `unfinished`, `gitRuns`.
    pub worktrees: BTreeMap<String, u64>,
    /// Work under `refs/swarm/rescue/`, which is never removed.
    pub rescue: RescuedWork,
}

/// Work under `refs/swarm/rescue/`.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct RescuedWork {
    /// The number of references.
    pub count: u64,
    /// The date of the oldest commit among them.
    #[schema(schema_with = time, required)]
    pub oldest: Option<String>,
}

/// Something that could not be removed.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct NotRemoved {
    /// Its path.
    pub path: String,
    /// The error.
    pub error: String,
}

/// One durable event.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct EventRecord {
    /// Its sequence number, from 1 without gaps.
    pub seq: u64,
    /// When it was written.
    #[schema(schema_with = time, required)]
    pub ts: String,
    /// The kind of event.
    #[schema(schema_with = kinds, required)]
    pub kind: String,
    /// The event's data.
    #[schema(value_type = Object)]
    pub data: Value,
}

/// A checkpoint. If its file cannot be read, it has a `problem` and fewer fields.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Checkpoint {
    /// The checkpoint's name.
    pub name: String,
    /// Its number, which is never reused.
    #[schema(required = false)]
    pub number: u64,
    /// When it was requested.
    pub created_at: String,
    /// `manual`, `periodic`, `before-autopilot` or `before-rollback`.
    pub reason: String,
    /// The target's commit.
    pub commit: String,
    /// The same as `commit`, as the file has it.
    pub git_commit: String,
    /// Its reference in git: `refs/swarm/checkpoints/<name>`.
    pub git_ref: String,
    /// The target branch.
    #[schema(required = false)]
    pub branch: String,
    /// The same as `branch`, as the file has it.
    #[schema(required = false)]
    pub target: String,
    /// The sequence number of the last event in its state.
    pub seq: u64,
    /// The status of each idea.
    #[schema(required = false)]
    pub idea_states: std::collections::BTreeMap<String, String>,
    /// The agents that were at work.
    #[schema(required = false)]
    pub agent_states: Vec<serde_json::Value>,
    /// Why its file cannot be read.
    pub problem: Option<String>,
}

/// A hook.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Hook {
    /// The hook's name: `pre-start`, ...
    pub hook: String,
    /// Where its program comes from: `configuration` or `folder`.
    pub from: String,
    /// Its program, relative to the repository.
    pub program: String,
    /// Whether it may run.
    pub approved: bool,
    /// Why it may not run.
    pub refused: Option<String>,
    /// How long a call may take, in seconds.
    pub timeout_seconds: i64,
    /// How the last call ended: `at`, `run`, `how`, `well`.
    pub last: Option<serde_json::Value>,
    /// The number of calls that are due or running.
    pub waiting: usize,
}

/// What a rollback would change.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct RollbackPreview {
    /// The checkpoint.
    pub checkpoint: String,
    /// The target's current commit.
    pub from: Option<String>,
    /// The commit to which the target would move.
    pub commit: String,
    /// Ideas whose status would change.
    pub ideas_reverted: Vec<RevertedIdea>,
    /// Commits that the target would lose, newest first.
    pub commits_lost: Vec<CommitLine>,
    /// Commits that the target would get back, newest first.
    pub commits_regained: Vec<CommitLine>,
    /// Uncommitted files in the way.
    pub dirty_files: Vec<String>,
    /// The shell commands that stash these files, one for each checkout.
    pub commands: Vec<String>,
    /// Agents that would be stopped; their work is kept.
    pub agents_stopped: Vec<StoppedAgent>,
    /// Ideas that autopilot would start, or start again, once it goes on after the rollback.
    pub ideas_to_start: u64,
    /// The ideas that `ideasToStart` counts.
    pub ideas_starting: Vec<String>,
    /// Later messages to agents that no prompt has delivered; no agent would get them.
    pub messages_dropped: Vec<DroppedMessage>,
    /// Why the rollback is not possible now.
    pub problem: Option<String>,
}

/// An idea that a rollback would change.
#[derive(ToSchema)]
pub struct RevertedIdea {
    /// The idea's id.
    pub id: String,
    /// Its status now.
    pub from: String,
    /// Its status after the rollback.
    pub to: String,
}

/// A message that a rollback would drop.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct DroppedMessage {
    /// The idea whose agent it was for.
    pub idea_id: String,
    /// The message.
    pub message: String,
}

/// A commit.
#[derive(ToSchema)]
pub struct CommitLine {
    /// The commit's id.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// Whether no landing of swarm brought it: a person's own commit, for example.
    pub own: bool,
}

/// An agent that a rollback would stop.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct StoppedAgent {
    /// The agent's id.
    pub id: String,
    /// The idea that it works on.
    pub idea_id: String,
    /// Its current iteration.
    pub iteration: u32,
}
