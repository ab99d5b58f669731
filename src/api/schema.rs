//! How answers look that are not views, for the description of the API. A test validates real
//! answers against it.
//!
//! Invariant: a value of these types is never made.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;

use crate::view::schema::{kinds, time};

/// What a clean removed, or would remove.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct CleanReport {
    /// Nothing was removed; this is what would be.
    pub dry_run: bool,
    /// What went.
    pub removed: Vec<Removed>,
    /// Bytes on the disk that it takes, all together.
    pub bytes: u64,
    /// What stayed, by why.
    pub kept: KeptThings,
    /// What could not be removed.
    #[schema(required = false)]
    pub failed: Vec<NotRemoved>,
}

/// One thing that went.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Removed {
    /// What it was: `run`, `copy`, `repositories`, `worktree`, `leftover`.
    pub kind: String,
    /// Where it lay, from the repository's root.
    pub path: String,
    /// Bytes on the disk that it takes.
    pub bytes: u64,
    /// Why it could go.
    pub reason: String,
}

/// What stayed: for each kind, how many for which reason.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct KeptThings {
    /// Directories of runs: `inUse`, `unfinished`, `young`, `unknown`, `unreadable`.
    pub runs: BTreeMap<String, u64>,
    /// Copies in `state/`: `young`, `repairing`.
    pub copies: BTreeMap<String, u64>,
    /// Folders of kept repositories: `inUse`, `unfinished`, `young`, `unknown`.
    pub repositories: BTreeMap<String, u64>,
    /// Worktrees that nobody works in: `daemonRuns`, `unfinished`, `gitRuns`.
    pub worktrees: BTreeMap<String, u64>,
    /// Work under `refs/swarm/rescue/`, which is never removed.
    pub rescue: RescuedWork,
}

/// Work under `refs/swarm/rescue/`.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct RescuedWork {
    /// How many references.
    pub count: u64,
    /// The date of the oldest commit among them.
    #[schema(schema_with = time, required)]
    pub oldest: Option<String>,
}

/// Something that could not be removed.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct NotRemoved {
    /// Where it lies.
    pub path: String,
    /// Why not.
    pub error: String,
}

/// One durable event.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct EventRecord {
    /// Its sequence number, from 1 without gaps.
    pub seq: u64,
    /// When it was journaled.
    #[schema(schema_with = time, required)]
    pub ts: String,
    /// What kind of fact.
    #[schema(schema_with = kinds, required)]
    pub kind: String,
    /// The fact.
    #[schema(value_type = Object)]
    pub data: Value,
}

/// A checkpoint. One whose file cannot be read has `problem` and less.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Checkpoint {
    /// Its name.
    pub name: String,
    /// When it was asked for.
    pub created_at: String,
    /// `manual`, `periodic`, `before-autopilot`, `before-rollback`.
    pub reason: String,
    /// The target's commit.
    pub git_commit: String,
    /// `swarm/checkpoint/<name>`.
    pub git_tag: String,
    /// The branch that the commit is of.
    #[schema(required = false)]
    pub target: String,
    /// The last event that its state has.
    pub seq: u64,
    /// How each idea stood.
    #[schema(required = false)]
    pub idea_states: std::collections::BTreeMap<String, String>,
    /// Attempts that were going on.
    #[schema(required = false)]
    pub agent_states: Vec<serde_json::Value>,
    /// Why its file cannot be read.
    pub problem: Option<String>,
}

/// A hook.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Hook {
    /// Which: `pre-start`, ...
    pub hook: String,
    /// Who names its program: `configuration` or `folder`.
    pub from: String,
    /// Its program, relative to the repository.
    pub program: String,
    /// Whether it is run.
    pub approved: bool,
    /// Why not.
    pub refused: Option<String>,
    /// How long a call may take, in seconds.
    pub timeout_seconds: i64,
    /// How the last call ended: `at`, `run`, `how`, `well`.
    pub last: Option<serde_json::Value>,
    /// Calls that are owed or under way.
    pub waiting: usize,
}

/// What a rollback would change.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct RollbackPreview {
    /// The checkpoint.
    pub checkpoint: String,
    /// Where the target is.
    pub from: Option<String>,
    /// Where the target goes.
    pub commit: String,
    /// Ideas whose status changes.
    pub ideas_reverted: Vec<RevertedIdea>,
    /// Commits that the target loses, newest first.
    pub commits_lost: Vec<CommitLine>,
    /// Commits that the target gets back, newest first.
    pub commits_regained: Vec<CommitLine>,
    /// Uncommitted files in the way.
    pub dirty_files: Vec<String>,
    /// The shell commands that put these files aside, one for each checkout.
    pub commands: Vec<String>,
    /// Agents that are stopped; their work is kept.
    pub agents_stopped: Vec<StoppedAgent>,
    /// What was said to agents since and no prompt has carried yet: nobody will be told.
    pub messages_dropped: Vec<DroppedMessage>,
    /// Why it cannot be done as things are.
    pub problem: Option<String>,
}

/// An idea that a rollback changes.
#[derive(ToSchema)]
pub struct RevertedIdea {
    /// The idea's id.
    pub id: String,
    /// How it stands.
    pub from: String,
    /// How it will stand.
    pub to: String,
}

/// A message that a rollback drops.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct DroppedMessage {
    /// Whose agents it was said to.
    pub idea_id: String,
    /// What was said.
    pub message: String,
}

/// A commit.
#[derive(ToSchema)]
pub struct CommitLine {
    /// Its id.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
}

/// An agent that a rollback stops.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct StoppedAgent {
    /// The agent's id.
    pub id: String,
    /// On what it works.
    pub idea_id: String,
    /// Its iteration.
    pub iteration: u32,
}
