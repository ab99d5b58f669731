//! A state by sections: ideas, agents, the queue and so on, each thing with its fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::domain::memory::{Fact, Learning, Note};
use crate::domain::state::checkpoint::Checkpoint;
use crate::domain::state::{Attempt, EndedAttempt, Idea, MergeEntry, State};
use crate::domain::usage::Spent;
use crate::view::memory::sha256;

/// A part of a state.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    clap::ValueEnum,
    strum::VariantArray,
    strum::IntoStaticStr,
    utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[schema(as = StateSection)]
#[strum(serialize_all = "lowercase")]
pub enum Section {
    /// The swarm as a whole.
    Swarm,
    /// Ideas, by id.
    Ideas,
    /// Attempts, by agent, those that have ended too.
    Agents,
    /// The merge queue, by idea.
    Queue,
    /// Learnings, by id.
    Learnings,
    /// Facts, by key.
    Facts,
    /// Notes of the scratchpad, by key.
    Notes,
    /// Checkpoints, by name.
    Checkpoints,
    /// Settings, by key.
    Settings,
}

/// The fields of a thing. Those without a value are left out.
pub type Fields = Map<String, Value>;

/// The things of each section, by name.
pub type Outline = BTreeMap<Section, BTreeMap<String, Fields>>;

impl Section {
    /// Its name in JSON and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The things of a state.
pub fn outline(state: &State) -> Outline {
    outline_without(state, None)
}

/// The things of a state without those that another state has exactly alike.
pub(super) fn outline_without(state: &State, other: Option<&State>) -> Outline {
    let named = |name: &dyn ToString, fields: Value| (name.to_string(), filled(fields));
    let running = state.agents.iter();
    let running = running.filter(|(id, it)| differs(other, *it, |state| state.agents.get(*id)));
    let running = running.map(|(id, attempt)| named(id, of_attempt(attempt)));
    let ended = state.ended.iter();
    let ended = ended.filter(|(id, it)| differs(other, *it, |state| state.ended.get(*id)));
    let ended = ended.map(|(id, attempt)| named(id, of_ended(attempt)));
    let queue = (1..).zip(&state.queue);
    let queue = queue.map(|(place, entry)| named(&entry.idea, of_entry(place, entry)));
    let ideas = state.ideas.iter();
    let ideas = ideas.filter(|(id, it)| differs(other, *it, |state| state.ideas.get(*id)));
    let learnings = state.learnings.iter();
    let learnings = learnings.filter(|it| differs(other, *it, |state| state.learnings.get(&it.id)));
    let facts = state.facts.iter();
    let facts = facts.filter(|(key, it)| differs(other, *it, |state| state.facts.get(key)));
    let notes = state.notes.iter();
    let notes = notes.filter(|(key, it)| differs(other, *it, |state| state.notes.get(key)));
    let checkpoints = state.checkpoints.iter();
    let checkpoints =
        checkpoints.filter(|(name, it)| differs(other, *it, |it| it.checkpoints.get(*name)));
    BTreeMap::from([
        (
            Section::Swarm,
            BTreeMap::from([named(&"swarm", of_swarm(state))]),
        ),
        (
            Section::Ideas,
            ideas.map(|(id, idea)| named(id, of_idea(idea))).collect(),
        ),
        (Section::Agents, ended.chain(running).collect()),
        (Section::Queue, queue.collect()),
        (
            Section::Learnings,
            learnings.map(|it| named(&it.id, of_learning(it))).collect(),
        ),
        (
            Section::Facts,
            facts.map(|(key, it)| named(key, of_fact(it))).collect(),
        ),
        (
            Section::Notes,
            notes.map(|(key, it)| named(key, of_note(it))).collect(),
        ),
        (
            Section::Checkpoints,
            checkpoints
                .map(|(name, it)| named(name, of_checkpoint(it)))
                .collect(),
        ),
        (Section::Settings, settings(state)),
    ])
}

/// Whether the other state, if there is one, has something else in this place, or nothing.
fn differs<'s, T: PartialEq + 's>(
    other: Option<&'s State>,
    this: &T,
    find: impl FnOnce(&'s State) -> Option<&'s T>,
) -> bool {
    other.is_none_or(|other| find(other) != Some(this))
}

/// The fields that have a value.
fn filled(fields: Value) -> Fields {
    let Value::Object(fields) = fields else {
        return Fields::new();
    };
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(_) | Value::Number(_) => false,
    };
    fields
        .into_iter()
        .filter(|(_, value)| !is_empty(value))
        .collect()
}

fn of_swarm(state: &State) -> Value {
    let swarm = &state.swarm;
    json!({
        "phase": swarm.phase,
        "mode": state.mode(),
        "paused": swarm.paused,
        "pauseReason": swarm.pause_reason,
        "target": swarm.target.as_ref().map(|seen| &seen.commit),
        "warnings": state.warnings.keys().collect::<Vec<_>>(),
    })
}

fn of_idea(idea: &Idea) -> Value {
    json!({
        "status": idea.status,
        "text": idea.text,
        "after": idea.after,
        "tags": idea.tags,
        "priority": idea.priority,
        "profile": idea.profile,
        "review": idea.review,
        "assigned": idea.assigned,
        "held": idea.held,
        "attempts": idea.attempts,
        "failedAttempts": idea.failed_attempts,
        "commit": idea.commit,
        "lastError": idea.last_error,
        "usd": usd(&idea.used),
        "tokens": tokens(&idea.used),
    })
}

fn of_attempt(attempt: &Attempt) -> Value {
    json!({
        "ideaId": attempt.idea,
        "attempt": attempt.number,
        "profile": attempt.profile,
        "phase": attempt.phase,
        "worktree": attempt.lent().is_none().then_some(&attempt.worktree),
        "branch": attempt.branch,
        "iterations": attempt.iteration,
        "commit": attempt.head,
        "run": attempt.run,
        "messages": attempt.heard.len(),
        "usd": usd(&attempt.used),
        "tokens": tokens(&attempt.used),
    })
}

fn of_ended(attempt: &EndedAttempt) -> Value {
    json!({
        "ideaId": attempt.idea,
        "attempt": attempt.number,
        "profile": attempt.profile,
        "end": attempt.end,
        "worktree": attempt.worktree,
        "branch": attempt.branch,
        "iterations": attempt.iteration,
        "messages": attempt.heard.len(),
        "usd": usd(&attempt.used),
        "tokens": tokens(&attempt.used),
    })
}

fn of_entry(place: usize, entry: &MergeEntry) -> Value {
    json!({
        "place": place,
        "agentId": entry.agent,
        "phase": entry.phase,
        "source": entry.source,
        "held": entry.held,
        "approved": entry.approved,
        "conflict": entry.conflict.as_ref().map(|conflict| &conflict.files),
        "waits": entry.waits.as_ref().map(|waits| &waits.reason),
    })
}

fn of_learning(learning: &Learning) -> Value {
    json!({
        "content": learning.content,
        "key": learning.key,
        "profile": learning.profile.as_ref().filter(|_| !learning.global),
        "evidenceCount": learning.evidence.count,
        "retracted": learning.retracted.is_some(),
    })
}

fn of_fact(fact: &Fact) -> Value {
    json!({
        "value": fact.value,
        "version": fact.version,
        "status": fact.status(),
        "pinned": fact.pinned,
        "claims": fact.rivals.len(),
        "evidenceCount": fact.evidence.count,
    })
}

fn of_note(note: &Note) -> Value {
    json!({
        "title": note.title,
        "version": note.version,
        "bytes": note.content.len(),
        "sha256": sha256(&note.content),
        "expiresAt": note.expires_at,
    })
}

fn of_checkpoint(checkpoint: &Checkpoint) -> Value {
    json!({
        "createdAt": checkpoint.created_at,
        "reason": checkpoint.reason,
        "commit": checkpoint.commit,
        "seq": checkpoint.seq,
    })
}

/// Each setting that decisions depend on, with its value.
fn settings(state: &State) -> BTreeMap<String, Fields> {
    let settings = state.settings.as_deref().map(serde_json::to_value);
    let Some(Ok(Value::Object(settings))) = settings else {
        return BTreeMap::new();
    };
    let with_value = |(key, value): (String, Value)| {
        let fields = Fields::from_iter([("value".to_owned(), value)]);
        (key, fields)
    };
    settings.into_iter().map(with_value).collect()
}

fn usd(spent: &Spent) -> Option<f64> {
    let usd = spent.cost.plus(spent.estimated).dollars();
    (usd > 0.0).then_some(usd)
}

fn tokens(spent: &Spent) -> Option<u64> {
    let of = &spent.tokens;
    let all = of.input + of.cached + of.cache_written + of.output;
    (all > 0).then_some(all)
}
