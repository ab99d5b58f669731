//! The state as people and programs see it: what the command line, the API and the page show. Names and shapes are part of the contract.

mod learnings;
mod no_daemon;
mod report;
pub mod schema;
mod unread_messages;
mod usage;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::domain::hook::approval_wanted;
use super::domain::ids::{AgentId, IdeaId, Oid, ProfileName, RunId};
use super::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use super::domain::message::Message;
use super::domain::scheduling;
use super::domain::settings::{Mode, Settings};
use super::domain::state::{
    Attempt, AttemptEnd, Audit, EndedAttempt, Idea, IdeaStatus, MergeEntry, Said, State,
};
use super::domain::time::Timestamp;
pub use learnings::{LearningView, SourceView, learnings};
pub use no_daemon::after_a_start;
pub use report::{ReportView, ReportedIdea, Stuck, report, stuck, warned};
pub use usage::{AccountView, DayView, TokensView, UsedView, accounts, used};

/// The swarm at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Status)]
pub struct StatusView {
    /// Where the swarm stands.
    #[schema(schema_with = schema::words::<SwarmPhase>, required)]
    pub phase: SwarmPhase,
    /// Who starts ideas.
    #[schema(schema_with = schema::words::<Mode>, required)]
    pub mode: Mode,
    /// The daemon's process id.
    #[schema(required)]
    pub pid: Option<u32>,
    /// The address of the page.
    #[schema(required)]
    pub web_url: Option<String>,
    /// The last event.
    pub last_seq: u64,
    /// The branch that work lands on.
    pub target: TargetView,
    /// Slots for live attempts.
    pub slots: SlotsView,
    /// Ideas by status; every status is there.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub ideas: BTreeMap<&'static str, usize>,
    /// Attempts that are not over.
    pub agents: Vec<AgentView>,
    /// The merge queue.
    pub merge_queue: Vec<MergeView>,
    /// What only a person can do, most urgent first.
    pub needs_you: Vec<NeedsYou>,
    /// What people should know.
    pub warnings: Vec<String>,
    /// Why it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub pause_reason: Option<String>,
    /// Accounts that must wait.
    pub accounts: Vec<AccountView>,
    /// What was used on this day.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub used_today: Option<DayView>,
    /// Whether anything can still happen by itself.
    #[schema(schema_with = schema::words::<Rest>, required)]
    pub rest: Rest,
}

/// The branch that work lands on.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Target)]
pub struct TargetView {
    /// Its name.
    #[schema(required)]
    pub branch: Option<String>,
    /// Where it was last seen.
    #[schema(required, value_type = Option<String>)]
    pub commit: Option<Oid>,
}

/// Slots for live attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Slots)]
pub struct SlotsView {
    /// In use.
    #[schema(value_type = u64)]
    pub used: usize,
    /// In all.
    #[schema(value_type = u64)]
    pub max: usize,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Agent)]
pub struct AgentView {
    /// The agent.
    #[schema(value_type = String)]
    pub id: AgentId,
    /// Its idea.
    #[schema(value_type = String)]
    pub idea_id: IdeaId,
    /// Where it stands; of one that is over: `merged`, `failed` or `released`.
    #[schema(schema_with = schema::words::<AttemptPhase>, required)]
    pub phase: AttemptPhase,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::words::<AttemptEnd>, required = false)]
    pub end: Option<AttemptEnd>,
    /// Which try at the idea.
    pub attempt: u32,
    /// Its last iteration.
    pub iteration: u32,
    /// Its child's process id.
    #[schema(required)]
    pub pid: Option<u32>,
    /// Its present run, or its last one, goes on with a conversation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub resumed: bool,
    /// Its profile.
    #[schema(value_type = String)]
    pub profile: ProfileName,
    /// Its worktree, relative to the repository.
    pub worktree: String,
    /// Its branch.
    pub branch: String,
    /// How far it says it is, in percent.
    #[schema(required)]
    pub progress: Option<u8>,
    /// When it was claimed.
    #[schema(schema_with = schema::time, required)]
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::time, required = false)]
    pub ended_at: Option<Timestamp>,
    /// Its runs, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<String>)]
    pub runs: Vec<RunId>,
    /// What was said to it and no prompt has carried yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub messages: Vec<String>,
    /// What was said to it, the newest last, and how far that has come.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Message>, required = false)]
    pub said: Vec<MessageView>,
    /// The idea that takes its place as soon as it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub redirected_to: Option<IdeaId>,
    /// Its conversation, as its program names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub session: Option<String>,
    /// At its boundary: not to go on before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub not_before: Option<Timestamp>,
    /// What its iterations used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub used: Option<UsedView>,
}

/// Something that a person said to an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageView {
    /// `accepted`: its next prompt carries it; `delivered`: the prompt of a run that is going on has it; `seen`: that run is over; `notDelivered`: the agent
    /// ended before, and it was left to the next attempt at its idea, if there is one; `neverRead`: its idea was done before.
    pub stage: &'static str,
    /// The message as it is kept.
    #[serde(flatten)]
    pub message: Message,
}

/// One entry of the merge queue.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Merge)]
pub struct MergeView {
    /// The idea.
    #[schema(value_type = String)]
    pub idea_id: IdeaId,
    /// Where it stands.
    #[schema(schema_with = schema::words::<MergePhase>, required)]
    pub state: MergePhase,
    /// Whose work.
    #[schema(value_type = String)]
    pub agent: AgentId,
    /// The branch.
    pub branch: String,
    /// The commit to merge.
    #[schema(value_type = String)]
    pub source: Oid,
    /// A person must say go; left out: no.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub held: bool,
    /// Files in conflict, or in the way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub files: Vec<String>,
    /// Why it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub reason: Option<String>,
    /// When it came.
    #[schema(schema_with = schema::time, required)]
    pub queued_at: Timestamp,
}

/// Something that only a person can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Need)]
pub struct NeedsYou {
    /// `conflict`, `question`, `blocked`, `checkout`, `merge`, `held`, `target`, `paused`, `failed`.
    #[schema(value_type = String)]
    pub kind: &'static str,
    /// The idea that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub idea_id: Option<IdeaId>,
    /// What and why.
    pub message: String,
    /// What to type, from the repository's root.
    pub commands: Vec<String>,
}

/// One idea.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Idea)]
pub struct IdeaView {
    /// Its id.
    #[schema(value_type = String)]
    pub id: IdeaId,
    /// How it stands.
    #[schema(schema_with = schema::words::<IdeaStatus>, required)]
    pub status: IdeaStatus,
    /// What is to be done.
    pub content: String,
    /// Free words.
    pub tags: Vec<String>,
    /// Added to its score.
    pub priority: i64,
    /// The ideas that must be done before.
    #[schema(value_type = Vec<String>)]
    pub after: Vec<IdeaId>,
    /// Crashes since it was added or retried.
    pub retry_count: u32,
    /// Attempts in all.
    pub attempts: u32,
    /// The merge commit that landed it.
    #[schema(required, value_type = Option<String>)]
    pub commit: Option<Oid>,
    /// Why it did not go on, last.
    #[schema(required)]
    pub last_error: Option<String>,
    /// The profile that it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub profile: Option<ProfileName>,
    /// When it was added.
    #[schema(schema_with = schema::time, required)]
    pub created_at: Timestamp,
    /// When it last changed.
    #[schema(schema_with = schema::time, required)]
    pub updated_at: Timestamp,
}

/// One idea with its history: all of an idea's fields, and these.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdeaDetail {
    /// The idea's own fields.
    #[serde(flatten)]
    pub idea: IdeaView,
    /// The agent that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub agent: Option<AgentId>,
    /// Ideas that wait on it.
    #[schema(value_type = Vec<String>)]
    pub dependents: Vec<IdeaId>,
    /// The worktree kept for its next attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub kept_worktree: Option<String>,
    /// Its merge, while it is in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub merge: Option<MergeView>,
    /// What only a person can do about it.
    pub needs_you: Vec<NeedsYou>,
    /// What its attempts used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub used: Option<UsedView>,
    /// What happened to it.
    #[schema(value_type = Vec<schema::HistoryLine>)]
    pub history: Vec<Audit>,
}

/// Whether anything can still happen by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Rest {
    /// Something is active, ready or merging.
    Busy,
    /// Something is left, but only a person can move it.
    NeedsPerson,
    /// Nothing is active, ready or merging.
    Idle,
}

/// What the state does not know, for [`status`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outside {
    /// The daemon's process id; none: no daemon runs.
    pub pid: Option<u32>,
    /// The address of the page.
    pub web_url: Option<String>,
    /// Where the target branch is.
    pub target: TargetNow,
    /// Since when, and why, nothing can be written to the log.
    pub stalled: Option<(Timestamp, String)>,
    /// Without a daemon: the agents that run on under their runners, and what they work on.
    pub left_running: Vec<(AgentId, IdeaId)>,
}

/// Where the target branch is at this moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TargetNow {
    /// Nobody looked.
    #[default]
    Unknown,
    /// There.
    At(Oid),
    /// There is no such branch.
    Gone,
}

/// The swarm at a glance.
pub fn status(state: &State, outside: Outside) -> StatusView {
    let Outside {
        pid,
        web_url,
        target: now,
        stalled,
        left_running,
    } = outside;
    let phase = match pid {
        Some(_) => state.swarm.phase,
        None => SwarmPhase::Stopped,
    };
    let settings = state.settings.as_deref();
    let target = state.swarm.target.as_ref();
    StatusView {
        phase,
        mode: state.mode(),
        pid,
        web_url,
        last_seq: state.seq,
        target: TargetView {
            branch: settings.map(|settings| settings.target.clone()),
            commit: match &now {
                TargetNow::At(commit) => Some(commit.clone()),
                _ => target.map(|target| target.commit.clone()),
            },
        },
        slots: SlotsView {
            used: state.slots_used(),
            max: settings.map_or(0, |settings| settings.max_parallel as usize),
        },
        ideas: count(state),
        agents: state
            .agents
            .iter()
            .map(|(id, attempt)| live_agent(id, attempt))
            .collect(),
        merge_queue: merges(state),
        needs_you: match pid {
            Some(_) => needs_you(state),
            None => cut_off(state)
                .into_iter()
                .chain(after_a_start(needs_you(state)))
                .collect(),
        },
        warnings: still_running(&left_running)
            .into_iter()
            .chain(warnings(state, &now, stalled))
            .collect(),
        pause_reason: state.swarm.pause_reason.clone(),
        accounts: accounts(state),
        used_today: usage::today(state),
        rest: rest(state),
    }
}

/// The first names of a list, and how many more there are.
pub fn names<T: fmt::Display>(all: &[T]) -> String {
    let shown: Vec<String> = all.iter().take(4).map(T::to_string).collect();
    match all.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn still_running(left: &[(AgentId, IdeaId)]) -> Option<String> {
    let each: Vec<String> = left
        .iter()
        .map(|(agent, idea)| format!("{agent} on {idea}"))
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "no daemon runs, but agents work on without it ({}); take them up again: swarm start; or end them: swarm start --detach, then swarm stop",
            each.join(", ")
        )
    })
}

fn warnings(state: &State, now: &TargetNow, stalled: Option<(Timestamp, String)>) -> Vec<String> {
    let stalled = stalled.map(|(since, why)| {
        format!(
            "nothing can be written since {since}, and nothing goes on until it can; it is tried again every second: {why}"
        )
    });
    let gone = (*now == TargetNow::Gone)
        .then(|| target_gone(state))
        .flatten();
    let known = state
        .warnings
        .values()
        .map(|warning| warning.message.clone());
    let unread = unread_messages::warnings(state);
    stalled
        .into_iter()
        .chain(gone)
        .chain(known)
        .chain(unread)
        .collect()
}

fn target_gone(state: &State) -> Option<String> {
    let branch = &state.settings.as_deref()?.target;
    let last = state
        .swarm
        .target
        .as_ref()
        .filter(|seen| seen.branch == *branch);
    let command = last.map_or_else(
        || format!("git branch {branch} COMMIT"),
        |seen| format!("git branch {branch} {}", seen.commit),
    );
    Some(format!(
        "the target branch `{branch}` is gone, so nothing can land; bring it back: {command}"
    ))
}

/// Ideas by status.
pub fn count(state: &State) -> BTreeMap<&'static str, usize> {
    let each = IdeaStatus::ALL.iter();
    each.map(|status| (status.as_str(), state.ideas.count(*status)))
        .collect()
}

/// An idea.
pub fn idea(id: &IdeaId, idea: &Idea) -> IdeaView {
    IdeaView {
        id: id.clone(),
        status: idea.status,
        content: idea.text.to_string(),
        tags: idea.tags.clone(),
        priority: idea.priority,
        after: idea.after.clone(),
        retry_count: idea.retry_count,
        attempts: idea.attempts,
        commit: idea.commit.clone(),
        last_error: idea.last_error.as_deref().map(str::to_owned),
        profile: idea.profile.clone(),
        created_at: idea.created_at,
        updated_at: idea.updated_at,
    }
}

/// The ideas, oldest first; those of one status where one is named.
pub fn ideas(state: &State, status: Option<IdeaStatus>) -> Vec<IdeaView> {
    let mut list: Vec<IdeaView> = state
        .ideas
        .iter()
        .filter(|(_, idea)| status.is_none_or(|status| idea.status == status))
        .map(|(id, this)| idea(id, this))
        .collect();
    // By number: as text, idea-1000 would come before idea-999.
    list.sort_by(|a, b| (a.id.as_str().len(), &a.id).cmp(&(b.id.as_str().len(), &b.id)));
    list
}

/// An idea with its history.
pub fn idea_detail(state: &State, id: &IdeaId) -> Option<IdeaDetail> {
    let this = state.ideas.get(id)?;
    let waits_on = |(_, other): &(&IdeaId, &Idea)| other.after.contains(id);
    Some(IdeaDetail {
        idea: idea(id, this),
        agent: state.attempt_at(id).map(|(agent, _)| agent.clone()),
        dependents: state
            .ideas
            .iter()
            .filter(waits_on)
            .map(|(id, _)| id.clone())
            .collect(),
        kept_worktree: this
            .kept
            .as_ref()
            .map(|kept| kept.worktree.worktree.as_str())
            // Handed over to another idea: its work is kept, no worktree is.
            .filter(|worktree| !worktree.is_empty())
            .map(worktree_path),
        merge: state.entry(id).map(merge),
        needs_you: {
            let about = |need: &NeedsYou| need.idea_id.as_ref() == Some(id);
            needs_you(state).into_iter().filter(about).collect()
        },
        used: usage::any_used(&this.used),
        history: this.audit.clone(),
    })
}

fn worktree_path(name: &str) -> String {
    format!(".swarm/worktrees/{name}")
}

fn live_agent(id: &AgentId, attempt: &Attempt) -> AgentView {
    AgentView {
        id: id.clone(),
        idea_id: attempt.idea.clone(),
        phase: attempt.phase,
        end: None,
        attempt: attempt.number,
        iteration: attempt.iteration,
        pid: attempt.pid,
        resumed: attempt.resumed,
        profile: attempt.profile.clone(),
        worktree: worktree_path(&attempt.worktree),
        branch: attempt.branch.clone(),
        progress: attempt.progress,
        started_at: attempt.claimed_at,
        ended_at: None,
        runs: attempt.runs.clone(),
        messages: attempt.messages.clone(),
        said: said(&attempt.heard, None),
        redirected_to: attempt
            .redirect
            .as_ref()
            .map(|redirect| redirect.to.clone()),
        session: attempt
            .session
            .as_ref()
            .map(|session| session.id.to_string()),
        not_before: attempt
            .not_before
            .filter(|_| attempt.phase == AttemptPhase::Backoff),
        used: usage::any_used(&usage::by_attempt(attempt)),
    }
}

fn ended_agent(id: &AgentId, ended: &EndedAttempt) -> AgentView {
    let phase = match ended.end {
        AttemptEnd::Merged | AttemptEnd::NothingToMerge => AttemptPhase::Merged,
        AttemptEnd::Blocked | AttemptEnd::Failed | AttemptEnd::TimedOut => AttemptPhase::Failed,
        _ => AttemptPhase::Released,
    };
    AgentView {
        id: id.clone(),
        idea_id: ended.idea.clone(),
        phase,
        end: Some(ended.end),
        attempt: ended.number,
        iteration: ended.iteration,
        pid: None,
        resumed: false,
        profile: ended.profile.clone(),
        worktree: worktree_path(&ended.worktree),
        branch: ended.branch.clone(),
        progress: None,
        started_at: ended.claimed_at,
        ended_at: Some(ended.ended_at),
        runs: ended.runs.clone(),
        messages: vec![],
        said: said(&ended.heard, Some(ended.end)),
        redirected_to: None,
        session: ended.session.as_ref().map(ToString::to_string),
        not_before: None,
        used: usage::any_used(&ended.used),
    }
}

fn said(heard: &[Message], ended: Option<AttemptEnd>) -> Vec<MessageView> {
    let stage = |message: &Message| match (message.seen_at, message.delivered_at) {
        (Some(_), _) => "seen",
        (None, Some(_)) => "delivered",
        (None, None) => match ended {
            None => "accepted",
            Some(end) if unread_messages::is_last(end) => "neverRead",
            Some(_) => "notDelivered",
        },
    };
    let each = heard.iter().map(|message| MessageView {
        stage: stage(message),
        message: message.clone(),
    });
    each.collect()
}

/// What people who have edited an idea should know: an attempt at it goes on with the text that it began with.
pub fn edited(state: &State, id: &IdeaId) -> Option<String> {
    let (agent, attempt) = state.attempt_at(id)?;
    let text = state.ideas.get(id).map(|idea| &idea.text);
    let differs = attempt.text.is_some() && attempt.text.as_ref() != text;
    differs.then(|| {
        format!(
            "{agent} goes on with the text that it began with; the new one is for the next attempt. To have it now: swarm agent stop {agent} (its work is kept)"
        )
    })
}

/// One agent, living or over.
pub fn agent(state: &State, id: &AgentId) -> Option<AgentView> {
    let live = state.agents.get(id).map(|attempt| live_agent(id, attempt));
    live.or_else(|| state.ended.get(id).map(|ended| ended_agent(id, ended)))
}

/// All agents, oldest first.
pub fn agents(state: &State) -> Vec<AgentView> {
    let live = state
        .agents
        .iter()
        .map(|(id, attempt)| live_agent(id, attempt));
    let ended = state.ended.iter().map(|(id, ended)| ended_agent(id, ended));
    let mut all: Vec<AgentView> = live.chain(ended).collect();
    all.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
    all
}

/// The merge queue.
pub fn merges(state: &State) -> Vec<MergeView> {
    state.queue.iter().map(merge).collect()
}

fn merge(entry: &MergeEntry) -> MergeView {
    let conflict = entry.conflict.as_ref().map(|conflict| &conflict.files);
    let in_the_way = entry.waits.as_ref().map(|waits| &waits.files);
    MergeView {
        idea_id: entry.idea.clone(),
        state: entry.phase,
        agent: entry.agent.clone(),
        branch: entry.branch.clone(),
        source: entry.source.clone(),
        held: entry.held,
        files: conflict.or(in_the_way).cloned().unwrap_or_default(),
        reason: entry.waits.as_ref().map(|waits| waits.reason.clone()),
        queued_at: entry.queued_at,
    }
}

/// What only a person can do, most urgent first.
pub fn needs_you(state: &State) -> Vec<NeedsYou> {
    let mut list = Vec::new();
    list.extend(rewritten_target(state));
    list.extend(paused(state));
    list.extend(usage::accounts_need_you(state));
    list.extend(
        state
            .queue
            .iter()
            .filter_map(|entry| waiting_merge(state, entry)),
    );
    list.extend(
        state
            .agents
            .iter()
            .filter_map(|(id, attempt)| question(id, attempt)),
    );
    list.extend(
        state
            .ideas
            .open()
            .filter_map(|(id, idea)| bad_end(id, idea).or_else(|| waits_in_vain(state, id, idea))),
    );
    list
}

/// A rollback that nobody goes on with: no daemon runs.
pub fn cut_off(state: &State) -> Option<NeedsYou> {
    let rollback = state.rollback.as_ref()?;
    Some(NeedsYou {
        kind: "rollback",
        idea_id: None,
        message: format!(
            "the rollback to {} was cut off; the next start finishes it. Until then files of the target may be halfway there, which git shows as changes: commit nothing",
            rollback.to
        ),
        commands: vec!["swarm start".into()],
    })
}

fn rewritten_target(state: &State) -> Option<NeedsYou> {
    let rewritten = state.swarm.rewritten.as_ref()?;
    let branch = &state.swarm.target.as_ref()?.branch;
    let from = &rewritten.from;
    let lost = match rewritten.dropped.len() {
        0 => String::new(),
        _ => format!(", landed ideas among it ({}),", names(&rewritten.dropped)),
    };
    Some(NeedsYou {
        kind: "target",
        idea_id: None,
        message: format!(
            "{branch} was force-pushed: it stood at {from:.10} and is at {:.10}; what it lost{lost} is kept as refs/swarm/rescue/dropped-{branch}-{from:.10}; merges wait for your choice about the work that waits: replay it onto the new history (rebase), merge it as it is (ignore), or give it up (cancel)",
            rewritten.to
        ),
        commands: ["rebase", "ignore", "cancel"]
            .map(|choice| format!("swarm merge target {choice}"))
            .to_vec(),
    })
}

fn paused(state: &State) -> Option<NeedsYou> {
    let reason = state.swarm.pause_reason.as_ref()?;
    Some(NeedsYou {
        kind: "paused",
        idea_id: None,
        message: if reason.starts_with("paused") {
            reason.clone()
        } else {
            format!("paused: {reason}")
        },
        commands: vec!["swarm resume".into()],
    })
}

fn waiting_merge(state: &State, entry: &MergeEntry) -> Option<NeedsYou> {
    let id = &entry.idea;
    let ways = [
        format!("swarm merge retry {id}"),
        format!("swarm idea cancel {id}"),
    ];
    let waits = entry.waits.as_ref().filter(|waits| waits.person);
    let (kind, message, commands) = if entry.phase == MergePhase::Person {
        // While the conflict is being laid out, or judged, nobody else is to work in that worktree.
        if state.is_under_way(&entry.agent, id) {
            return None;
        }
        let files = entry
            .conflict
            .as_ref()
            .map(|conflict| conflict.files.join(", "));
        let why = waits.map_or_else(String::new, |waits| format!(" ({})", waits.reason));
        let message = format!(
            "the merge of {id} has a conflict in {}{why}",
            files.unwrap_or_default()
        );
        ("conflict", message, conflict_commands(state, entry))
    } else if entry.held {
        (
            "held",
            format!("{id} is ready to merge and waits for you"),
            ways.to_vec(),
        )
    } else {
        let waits = waits?;
        let kind = if waits.files.is_empty() {
            "merge"
        } else {
            "checkout"
        };
        let files = match waits.files.as_slice() {
            [] => String::new(),
            files => format!(": {}", files.join(", ")),
        };
        (
            kind,
            format!("the merge of {id} waits: {}{files}", waits.reason),
            approval_wanted(&waits.reason)
                .into_iter()
                .chain(ways)
                .collect(),
        )
    };
    Some(NeedsYou {
        kind,
        idea_id: Some(id.clone()),
        message,
        commands,
    })
}

/// The exact commands for a person who settles a conflict.
fn conflict_commands(state: &State, entry: &MergeEntry) -> Vec<String> {
    let Some(attempt) = state.agents.get(&entry.agent) else {
        return vec![];
    };
    let path = worktree_path(&attempt.worktree);
    vec![
        format!("git -C {path} status"),
        format!("git -C {path} mergetool   # or edit the files by hand"),
        format!("git -C {path} add --all"),
        format!(
            "git -C {path} commit -m 'Settle the conflict of {}'",
            entry.idea
        ),
        format!("swarm merge resolve {}", entry.idea),
    ]
}

fn question(id: &AgentId, attempt: &Attempt) -> Option<NeedsYou> {
    let (AttemptPhase::WaitingForHuman, Some(Said::NeedsHuman(why))) =
        (attempt.phase, &attempt.said)
    else {
        return None;
    };
    Some(NeedsYou {
        kind: "question",
        idea_id: Some(attempt.idea.clone()),
        message: format!("{id} asks: {why}"),
        commands: vec![
            format!("swarm agent say {id} \"...\""),
            format!("swarm idea retry {}", attempt.idea),
        ],
    })
}

fn bad_end(id: &IdeaId, idea: &Idea) -> Option<NeedsYou> {
    if !idea.status.is_bad() {
        return None;
    }
    let kind = if idea.status == IdeaStatus::Blocked {
        "blocked"
    } else {
        "failed"
    };
    let why = idea.last_error.as_deref().unwrap_or("no reason known");
    Some(NeedsYou {
        kind,
        idea_id: Some(id.clone()),
        message: format!("{id} is {}: {why}", idea.status.as_str()),
        commands: approval_wanted(why)
            .into_iter()
            .chain([
                format!("swarm idea retry {id}"),
                format!("swarm idea cancel {id}"),
            ])
            .collect(),
    })
}

/// An idea that can never begin, for what it waits on is not wanted any more.
fn waits_in_vain(state: &State, id: &IdeaId, idea: &Idea) -> Option<NeedsYou> {
    let cancelled = |id: &&IdeaId| {
        let before = state.ideas.get(*id);
        before.is_some_and(|before| before.status == IdeaStatus::Cancelled)
    };
    if !matches!(idea.status, IdeaStatus::Pending | IdeaStatus::Merging) {
        return None;
    }
    let before = idea.after.iter().find(cancelled)?;
    let rest = idea.after.iter().filter(|id| *id != before);
    let rest: Vec<&str> = rest.map(IdeaId::as_str).collect();
    let without = match rest.as_slice() {
        [] => "--no-after".to_owned(),
        rest => format!("--after {}", rest.join(",")),
    };
    Some(NeedsYou {
        kind: "blocked",
        idea_id: Some(id.clone()),
        message: format!("{id} waits for {before}, which is cancelled"),
        commands: vec![
            format!("swarm idea edit {id} {without}"),
            format!("swarm idea retry {before}"),
            format!("swarm idea cancel {id}"),
        ],
    })
}

/// Whether anything can still happen by itself.
pub fn rest(state: &State) -> Rest {
    let running = matches!(
        state.swarm.phase,
        SwarmPhase::Running | SwarmPhase::Recovering
    );
    let mut left = false;
    for attempt in state.agents.values() {
        match attempt.phase {
            // Its entry says.
            AttemptPhase::ReadyToMerge => {}
            AttemptPhase::WaitingForHuman => left = true,
            AttemptPhase::Backoff
                if attempt.ending.is_none()
                    && (!running || is_held_for_person(state, |all| all.profile_of(attempt))) =>
            {
                left = true;
            }
            _ => return Rest::Busy,
        }
    }
    for entry in &state.queue {
        if !waits_for_person(state, entry) {
            return Rest::Busy;
        }
        left = true;
    }
    for (_, idea) in state.ideas.open() {
        if !scheduling::is_ready(state, idea) {
            continue;
        }
        if running && !is_held_for_person(state, |all| all.profile_for(idea)) {
            return Rest::Busy;
        }
        left = true;
    }
    let owed = !state.owed.is_empty() || !state.hooks.is_empty();
    if !state.outbox.is_empty() || owed {
        return Rest::Busy;
    }
    if left { Rest::NeedsPerson } else { Rest::Idle }
}

/// Whether nothing of a profile begins before a person says so.
fn is_held_for_person<'a>(
    state: &'a State,
    profile: impl Fn(&'a Settings) -> &'a ProfileName,
) -> bool {
    let settings = state.settings.as_deref();
    settings.is_some_and(|all| state.is_held_for_person(all.account_of(profile(all))))
}

/// Whether an entry of the queue does not move by itself; what it comes after is counted by its own.
fn waits_for_person(state: &State, entry: &MergeEntry) -> bool {
    let asked = entry.waits.as_ref().is_some_and(|waits| waits.person);
    let stuck = state.swarm.rewritten.is_some() && !entry.phase.is_busy();
    let locked = !scheduling::is_idea_unlocked(state, &entry.idea) && !entry.phase.is_busy();
    let attempt = state.agents.get(&entry.agent);
    let at_boundary = attempt.is_some_and(|attempt| attempt.phase == AttemptPhase::Backoff);
    match entry.phase {
        MergePhase::Person => true,
        // Its resolver waits for the end of a pause: a boundary that lasts is none of a running swarm.
        MergePhase::Resolver => at_boundary,
        _ => entry.held || asked || stuck || locked,
    }
}
