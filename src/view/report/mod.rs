//! What happened since some time: `swarm report`.

pub(super) mod details;

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::ids::{AgentId, IdeaId, Oid};
use crate::domain::state::checks::outage::Outage;
use crate::domain::state::{Idea, IdeaStatus, LANDED, State};
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;
use crate::domain::warning::WarningKind;
use crate::view::status::{baseline, warnings};
use crate::view::usage::{self, AccountView, UsedView, accounts, any_used};
use crate::view::{NeedsYou, WarningView, describe, needs_you, schema, unread_messages};

/// What happened since some time.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Report)]
pub struct ReportView {
    /// The start of the reported period; null: everything.
    #[schema(required = true, value_type = Option<String>)]
    pub since: Option<Timestamp>,
    /// The time of the last event.
    #[schema(schema_with = schema::time, required)]
    pub until: Timestamp,
    /// Ideas that landed.
    pub landed: Vec<ReportedIdea>,
    /// Ideas that are done without a commit, because the target had their work already.
    pub nothing_to_land: Vec<ReportedIdea>,
    /// Ideas that are `failed`, `timeout` or `blocked` and have not been retried.
    pub failed: Vec<ReportedIdea>,
    /// Ideas that are `pending`, `active` or `merging`, the oldest first.
    pub waiting: Vec<ReportedIdea>,
    /// Agents that have made no commit for many iterations.
    pub stuck: Vec<Stuck>,
    /// What needs a person.
    pub needs_you: Vec<NeedsYou>,
    /// Warnings that do not stop the work.
    pub warnings: Vec<WarningView>,
    /// Accounts on hold.
    pub accounts: Vec<AccountView>,
    /// When the machine was suspended: no agent is charged for that time.
    pub slept: Vec<SleptView>,
    /// When something outside the work failed checks: nobody is charged for that.
    pub outages: Vec<OutageView>,
    /// What the attempts used that ended in the period, and those still running.
    pub used: UsedView,
}

/// A time in which the machine was suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Slept)]
pub struct SleptView {
    /// When swarm noticed that it was over.
    #[schema(schema_with = schema::time, required)]
    pub until: Timestamp,
    /// How long it lasted.
    pub seconds: u64,
}

/// A time in which the untouched target failed a command that it had passed before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Outage)]
pub struct OutageView {
    /// The setup or quality command.
    pub command: String,
    /// When the target first failed it.
    #[schema(schema_with = schema::time, required)]
    pub since: Timestamp,
    /// When it was over; absent while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub until: Option<Timestamp>,
    /// How often the target failed it.
    pub tries: u32,
    /// The ideas whose checks or merges waited.
    #[schema(value_type = Vec<String>)]
    pub ideas: Vec<IdeaId>,
    /// The same in words.
    pub message: String,
}

/// An idea in a report.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedIdea {
    /// The idea's id.
    #[schema(value_type = String)]
    pub id: IdeaId,
    /// Its status.
    #[schema(value_type = String)]
    pub status: IdeaStatus,
    /// Its text.
    pub content: String,
    /// The merge commit that landed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Option<String>)]
    pub commit: Option<Oid>,
    /// Why it has this status, or what it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub reason: Option<String>,
    /// When its status last changed.
    #[schema(schema_with = schema::time, required)]
    pub at: Timestamp,
    /// What all its attempts used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub used: Option<UsedView>,
}

/// An agent that has made no commit for many iterations.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stuck {
    /// The agent.
    #[schema(value_type = String)]
    pub agent_id: AgentId,
    /// Its idea.
    #[schema(value_type = String)]
    pub idea_id: IdeaId,
    /// When swarm noticed it.
    #[schema(schema_with = schema::time, required)]
    pub since: Timestamp,
    /// The warning.
    pub message: String,
    /// The commands to type in the repository's root.
    pub commands: Vec<String>,
}

/// What happened since `since`; `None` means everything.
pub fn report(state: &State, since: Option<Timestamp>) -> ReportView {
    let recent = |at: Timestamp| since.is_none_or(|since| at >= since);
    let sorted_by = |time: fn(&Idea) -> Timestamp, wanted: &dyn Fn(&Idea) -> bool| {
        let ideas = state.ideas.iter().filter(|(_, idea)| wanted(idea));
        let mut found: Vec<(&IdeaId, &Idea)> = ideas.collect();
        found.sort_by_key(|(id, idea)| (time(idea), *id));
        let found = found.into_iter();
        found.map(|(id, idea)| reported(state, id, idea)).collect()
    };
    let waiting = |idea: &Idea| {
        matches!(
            idea.status,
            IdeaStatus::Pending | IdeaStatus::Active | IdeaStatus::Merging
        )
    };
    let done = |idea: &Idea| idea.status == IdeaStatus::Done && recent(reached(idea));
    let used = usage::used(&spent(state, &recent));
    ReportView {
        since,
        until: state.swarm.last_event_at,
        landed: sorted_by(reached, &|idea| done(idea) && idea.commit.is_some()),
        nothing_to_land: sorted_by(reached, &|idea| done(idea) && idea.commit.is_none()),
        failed: sorted_by(reached, &|idea| {
            idea.status.is_bad() && recent(idea.updated_at)
        }),
        // An order that stays, whatever happens to an idea while somebody reads.
        waiting: sorted_by(|idea| idea.created_at, &waiting),
        stuck: stuck(state),
        needs_you: needs_you(state),
        warnings: warned(state),
        accounts: accounts(state),
        slept: slept(state, &recent),
        outages: outages(state, since),
        used,
    }
}

fn slept(state: &State, recent: &dyn Fn(Timestamp) -> bool) -> Vec<SleptView> {
    let all = state.swarm.slept.iter().filter(|one| recent(one.until));
    all.map(|one| SleptView {
        until: one.until,
        seconds: one.seconds,
    })
    .collect()
}

/// When something outside the work failed checks, as far as it had not ended before `since`.
pub(super) fn outages(state: &State, since: Option<Timestamp>) -> Vec<OutageView> {
    let recent =
        |outage: &&Outage| since.is_none_or(|from| outage.until.is_none_or(|it| it >= from));
    let all = state.swarm.outages.iter().filter(recent);
    all.map(|one| OutageView {
        command: one.command.clone(),
        since: one.since,
        until: one.until,
        tries: one.tries,
        ideas: one.waited.iter().cloned().collect(),
        message: describe::outage(one),
    })
    .collect()
}

fn reported(state: &State, id: &IdeaId, idea: &Idea) -> ReportedIdea {
    ReportedIdea {
        id: id.clone(),
        status: idea.status,
        content: idea.text.to_string(),
        commit: idea.commit.clone(),
        reason: why(state, id, idea),
        at: reached(idea),
        used: any_used(&idea.used),
    }
}

/// When an idea reached its status. A rollback that was undone, or a rewrite, changed an idea
/// that had landed; it landed when its commit did.
fn reached(idea: &Idea) -> Timestamp {
    landed_at(idea).unwrap_or(idea.updated_at)
}

/// When an idea landed that is done with a commit.
pub fn landed_at(idea: &Idea) -> Option<Timestamp> {
    let landed = idea.status == IdeaStatus::Done;
    let commit = idea.commit.as_ref().filter(|_| landed)?;
    let mut lines = idea.audit.iter().rev();
    let landing = lines.find(|line| line.what == LANDED && line.detail == commit.as_str());
    Some(landing.map_or(idea.updated_at, |line| line.at))
}

/// Why an idea has its status. The error of an attempt does not count once another has started.
fn why(state: &State, id: &IdeaId, idea: &Idea) -> Option<String> {
    let error = || idea.last_error.as_deref().map(str::to_owned);
    match idea.status {
        IdeaStatus::Done | IdeaStatus::Cancelled => None,
        IdeaStatus::Active => {
            let (_, attempt) = state.attempt_at(id)?;
            let comment = attempt.review.as_deref()?;
            Some(format!("returned by a reviewer: {}", comment.text))
        }
        IdeaStatus::Failed | IdeaStatus::Timeout | IdeaStatus::Blocked => error(),
        IdeaStatus::Merging => {
            let entry = state.entry(id)?;
            let waits = entry.waits.as_ref().map(|waits| waits.reason.clone());
            waits.or_else(|| entry.held.then(|| "waiting for your review".to_owned()))
        }
        IdeaStatus::Pending => {
            let done = |id: &&IdeaId| {
                let before = state.ideas.get(*id);
                before.is_some_and(|before| before.status == IdeaStatus::Done)
            };
            let before = idea.after.iter().filter(|id| !done(id));
            let before: Vec<&str> = before.map(IdeaId::as_str).collect();
            if before.is_empty() {
                // After a crash it waits for a while.
                return idea.not_before.and_then(|_| error());
            }
            Some(format!("waits for {}", before.join(", ")))
        }
    }
}

/// Agents that have made no commit for many iterations.
pub fn stuck(state: &State) -> Vec<Stuck> {
    let warned = state.agents.iter().filter_map(|(agent, attempt)| {
        let warning = state.warnings.get(&WarningKind::Stuck.about(agent))?;
        Some(Stuck {
            agent_id: agent.clone(),
            idea_id: attempt.idea.clone(),
            since: warning.since,
            message: warning.message.clone(),
            commands: warning.commands.clone(),
        })
    });
    warned.collect()
}

/// The current warnings, except those about [`stuck`] agents.
pub fn warned(state: &State) -> Vec<WarningView> {
    let known = warnings::raised(state, |kind| kind != Some(WarningKind::Stuck));
    let unread = unread_messages::warnings(state);
    known
        .chain(unread)
        .chain(baseline::warnings(state))
        .collect()
}

/// What all attempts used: the total of a report without a beginning.
pub fn all_spent(state: &State) -> Spent {
    spent(state, &|_| true)
}

/// What the runs used so far that have not ended.
pub fn spent_under_way(state: &State) -> Spent {
    let mut spent = Spent::default();
    for using in state.agents.values().filter_map(|it| it.using.as_deref()) {
        spent.add(using);
    }
    spent
}

fn spent(state: &State, recent: &impl Fn(Timestamp) -> bool) -> Spent {
    let mut spent = Spent::default();
    let ended = state.ended.values();
    for ended in ended.filter(|ended| recent(ended.ended_at)) {
        spent.add_all(&ended.used);
    }
    for attempt in state.agents.values() {
        spent.add_all(&usage::by_attempt(attempt));
    }
    spent
}
