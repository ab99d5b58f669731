//! How answers look, for the description of the interface. The domain's views are what is really sent and know nothing of this; a test
//! holds both together.
//!
//! Invariant: a value of these types is never made; words come from the domain's own enums, so that none is missing.

mod used;

use std::collections::BTreeMap;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, Error, IntoDeserializer};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use crate::domain::event::Event;
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::settings::Mode;
use crate::domain::state::{AttemptEnd, IdeaStatus};
use crate::view::Rest;

pub use used::{Account, Report, ReportedIdea, Stuck, Tokens, Used, UsedOnDay};

/// The names that an enum of the domain is read from, caught where serde complains about a name that it does not know.
#[derive(Debug, Default)]
struct Names(&'static [&'static str]);

impl std::fmt::Display for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

impl std::error::Error for Names {}

impl Error for Names {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self::default()
    }

    fn unknown_variant(_: &str, names: &'static [&'static str]) -> Self {
        Self(names)
    }
}

/// The words of a plain enum.
fn words_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let unknown: StrDeserializer<'_, Names> = "".into_deserializer();
    T::deserialize(unknown).err().unwrap_or_default().0
}

/// The kinds of events.
pub fn event_kinds() -> &'static [&'static str] {
    use serde::Deserialize;
    use serde::de::value::MapDeserializer;
    let unknown: MapDeserializer<'_, _, Names> =
        MapDeserializer::new(std::iter::once(("kind", "")));
    Event::deserialize(unknown).err().unwrap_or_default().0
}

/// The schema of one of the words of `T`.
pub(super) fn words<T: DeserializeOwned>() -> Object {
    one_of(words_of::<T>())
}

fn kinds() -> Object {
    one_of(event_kinds())
}

fn one_of(words: &'static [&'static str]) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words.iter().copied()))
        .build()
}

/// A point in time.
fn time() -> Object {
    let example = Value::from("2026-01-31T23:59:59.123Z");
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("RFC 3339 UTC with milliseconds"))
        .examples([example])
        .build()
}

/// The swarm at a glance.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Status {
    /// Where the swarm stands.
    #[schema(schema_with = words::<SwarmPhase>, required)]
    pub phase: String,
    /// Who starts ideas.
    #[schema(schema_with = words::<Mode>, required)]
    pub mode: String,
    /// The daemon's process id.
    #[schema(required)]
    pub pid: Option<u32>,
    /// The address of the page.
    #[schema(required)]
    pub web_url: Option<String>,
    /// The last event.
    pub last_seq: u64,
    /// The branch that work lands on.
    pub target: Target,
    /// Slots for live attempts.
    pub slots: Slots,
    /// Ideas by status; every status is there.
    pub ideas: BTreeMap<String, u64>,
    /// Attempts that are not over.
    pub agents: Vec<Agent>,
    /// The merge queue.
    pub merge_queue: Vec<Merge>,
    /// What only a person can do, most urgent first.
    pub needs_you: Vec<Need>,
    /// What people should know.
    pub warnings: Vec<String>,
    /// Why it is paused.
    #[schema(required = false)]
    pub pause_reason: Option<String>,
    /// Accounts that must wait.
    pub accounts: Vec<Account>,
    /// What was used on this day.
    #[schema(required = false)]
    pub used_today: Option<UsedOnDay>,
    /// Whether anything can still happen by itself.
    #[schema(schema_with = words::<Rest>, required)]
    pub rest: String,
}

/// The branch that work lands on.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Target {
    /// Its name.
    #[schema(required)]
    pub branch: Option<String>,
    /// Where it was last seen.
    #[schema(required)]
    pub commit: Option<String>,
}

/// Slots for live attempts.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Slots {
    /// In use.
    pub used: u64,
    /// In all.
    pub max: u64,
}

/// One attempt.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Agent {
    /// The agent.
    pub id: String,
    /// Its idea.
    pub idea_id: String,
    /// Where it stands; of one that is over: `merged`, `failed` or `released`.
    #[schema(schema_with = words::<AttemptPhase>, required)]
    pub phase: String,
    /// How it ended.
    #[schema(schema_with = words::<AttemptEnd>, required = false)]
    pub end: Option<String>,
    /// Which try at the idea.
    pub attempt: u32,
    /// Its last iteration.
    pub iteration: u32,
    /// Its child's process id.
    #[schema(required)]
    pub pid: Option<u32>,
    /// Its profile.
    pub profile: String,
    /// Its worktree, relative to the repository.
    pub worktree: String,
    /// Its branch.
    pub branch: String,
    /// How far it says it is, in percent.
    #[schema(required)]
    pub progress: Option<u8>,
    /// When it was claimed.
    #[schema(schema_with = time, required)]
    pub started_at: String,
    /// When it ended.
    #[schema(schema_with = time, required = false)]
    pub ended_at: Option<String>,
    /// Its runs, oldest first.
    #[schema(required = false)]
    pub runs: Vec<String>,
    /// What was said to it and no prompt has carried yet.
    #[schema(required = false)]
    pub messages: Vec<String>,
    /// What was said to it, the newest last, and how far that has come.
    #[schema(required = false)]
    pub said: Vec<Message>,
    /// The idea that takes its place as soon as it has ended.
    #[schema(required = false)]
    pub redirected_to: Option<String>,
    /// Its conversation, as its program names it.
    #[schema(required = false)]
    pub session: Option<String>,
    /// At its boundary: not to go on before.
    #[schema(required = false)]
    pub not_before: Option<String>,
    /// What its iterations used.
    #[schema(required = false)]
    pub used: Option<Used>,
}

/// Something that a person said to an agent.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Message {
    /// `accepted`: its next prompt carries it; `delivered`: the prompt of a run that is going on has it; `seen`: that run is over; `notDelivered`: the agent
    /// ended before, and it was left to the next attempt at its idea, if there is one; `neverRead`: its idea was done before.
    pub stage: String,
    /// What; of a long one the beginning.
    pub text: String,
    /// When it was accepted.
    #[schema(schema_with = time, required)]
    pub accepted_at: String,
    /// The run whose prompt carries it.
    #[schema(required = false)]
    pub run: Option<String>,
    /// When that run began.
    #[schema(schema_with = time, required = false)]
    pub delivered_at: Option<String>,
    /// When that run was over.
    #[schema(schema_with = time, required = false)]
    pub seen_at: Option<String>,
}

/// One entry of the merge queue.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Merge {
    /// The idea.
    pub idea_id: String,
    /// Where it stands.
    #[schema(schema_with = words::<MergePhase>, required)]
    pub state: String,
    /// Whose work.
    pub agent: String,
    /// The branch.
    pub branch: String,
    /// The commit to merge.
    pub source: String,
    /// A person must say go; left out: no.
    #[schema(required = false)]
    pub held: bool,
    /// Files in conflict, or in the way.
    #[schema(required = false)]
    pub files: Vec<String>,
    /// Why it waits.
    #[schema(required = false)]
    pub reason: Option<String>,
    /// When it came.
    #[schema(schema_with = time, required)]
    pub queued_at: String,
}

/// Something that only a person can do.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Need {
    /// `conflict`, `question`, `blocked`, `checkout`, `merge`, `held`, `target`, `paused`, `failed`.
    pub kind: String,
    /// The idea that waits.
    #[schema(required = false)]
    pub idea_id: Option<String>,
    /// What and why.
    pub message: String,
    /// What to type, from the repository's root.
    pub commands: Vec<String>,
}

/// One idea.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Idea {
    /// Its id.
    pub id: String,
    /// How it stands.
    #[schema(schema_with = words::<IdeaStatus>, required)]
    pub status: String,
    /// What is to be done.
    pub content: String,
    /// Free words.
    pub tags: Vec<String>,
    /// Added to its score.
    pub priority: i64,
    /// The ideas that must be done before.
    pub after: Vec<String>,
    /// Crashes since it was added or retried.
    pub retry_count: u32,
    /// Attempts in all.
    pub attempts: u32,
    /// The merge commit that landed it.
    #[schema(required)]
    pub commit: Option<String>,
    /// Why it did not go on, last.
    #[schema(required)]
    pub last_error: Option<String>,
    /// The profile that it asks for.
    #[schema(required = false)]
    pub profile: Option<String>,
    /// When it was added.
    #[schema(schema_with = time, required)]
    pub created_at: String,
    /// When it last changed.
    #[schema(schema_with = time, required)]
    pub updated_at: String,
}

/// One idea with its history: all of an idea's fields, and these.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct IdeaDetail {
    /// The idea's own fields.
    #[serde(flatten)]
    pub idea: Idea,
    /// The agent that has it.
    #[schema(required = false)]
    pub agent: Option<String>,
    /// Ideas that wait on it.
    pub dependents: Vec<String>,
    /// The worktree kept for its next attempt.
    #[schema(required = false)]
    pub kept_worktree: Option<String>,
    /// Its merge, while it is in the queue.
    #[schema(required = false)]
    pub merge: Option<Merge>,
    /// What only a person can do about it.
    pub needs_you: Vec<Need>,
    /// What its attempts used.
    #[schema(required = false)]
    pub used: Option<Used>,
    /// What happened to it.
    pub history: Vec<HistoryLine>,
}

/// One line of an idea's history.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct HistoryLine {
    /// When.
    #[schema(schema_with = time, required)]
    pub at: String,
    /// What: `claimed`, `crash_recovery`, `failed`, ...
    pub what: String,
    /// More of it.
    #[schema(required = false)]
    pub detail: String,
}

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
    /// Which.
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
    /// Which.
    pub id: String,
    /// On what it works.
    pub idea_id: String,
    /// Its iteration.
    pub iteration: u32,
}

/// What an agent found out.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Learning {
    /// Its id.
    pub id: String,
    /// `global`: for all agents; `local`: for those of the profile.
    #[schema(schema_with = scopes, required)]
    pub scope: String,
    /// The profile under which it was found first.
    pub profile: String,
    /// What was found out.
    pub content: String,
    /// Who found it, the first one first.
    pub sources: Vec<LearningSource>,
    /// When it was found first.
    #[schema(schema_with = time, required)]
    pub learned_at: String,
}

fn scopes() -> Object {
    one_of(&["global", "local"])
}

/// Who found something out.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct LearningSource {
    /// The agent.
    pub agent: String,
    /// On what it worked; none: nothing is known of that agent any more.
    pub idea_id: Option<String>,
}
