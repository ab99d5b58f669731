//! What a report adds for the page: what went wrong on the way, and who spent what.
//!
//! Invariant: the sums are those of [`report`](super::report), split by profile.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::ids::{AgentId, IdeaId, ProfileName};
use crate::domain::state::undo::Action;
use crate::domain::state::{AttemptEnd, State};
use crate::domain::time::Timestamp;
use crate::domain::usage::Spent;
use crate::view::usage::{self, UsedView};
use crate::view::{ReportedIdea, describe};

/// Kinds of things that go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BumpKind {
    /// An agent's process died.
    Crashed,
    /// An attempt failed.
    Failed,
    /// An attempt ran out of time or iterations.
    TimedOut,
    /// An agent could not go on.
    Blocked,
    /// The merged tree did not pass.
    Returned,
    /// A person sent the work back.
    Rejected,
    /// The target went back to a checkpoint.
    RolledBack,
    /// An account had to wait.
    Account,
    /// The machine was suspended.
    Slept,
    /// Something outside the work failed checks.
    Outage,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bump {
    /// When.
    pub at: Timestamp,
    /// What kind of thing.
    pub kind: BumpKind,
    /// The idea that it happened to.
    pub idea: Option<IdeaId>,
    /// What happened, in words; parts of it are an agent's.
    pub text: String,
}

/// Everything known that went wrong since `since`, oldest first; `None` means ever.
pub fn bumps(state: &State, since: Option<Timestamp>) -> Vec<Bump> {
    let ended = state.ended.iter().filter_map(|(agent, attempt)| {
        let kind = of_end(attempt.end)?;
        Some(Bump {
            at: attempt.ended_at,
            kind,
            idea: Some(attempt.idea.clone()),
            text: format!("{agent} {} on {}", attempt.end, attempt.idea),
        })
    });
    let rollbacks = state.undo.actions.iter().filter_map(|one| {
        let Action::Rollback { to, .. } = &one.action else {
            return None;
        };
        Some(Bump {
            at: one.at,
            kind: BumpKind::RolledBack,
            idea: None,
            text: format!("rolled back to {to}"),
        })
    });
    let accounts = state.accounts.iter().map(|(account, hold)| Bump {
        at: hold.since,
        kind: BumpKind::Account,
        idea: None,
        text: format!("the account {account} waits: {}", hold.message),
    });
    let profiles = state.profiles.iter().map(|(profile, hold)| Bump {
        at: hold.since,
        kind: BumpKind::Account,
        idea: None,
        text: format!(
            "the program of profile {profile} cannot begin: {}",
            hold.message
        ),
    });
    let sleeps = state.swarm.slept.iter().map(|slept| Bump {
        at: slept.until,
        kind: BumpKind::Slept,
        idea: None,
        text: describe::slept(slept.seconds),
    });
    let outages = super::outages(state, since).into_iter().map(|outage| Bump {
        at: since.map_or(outage.since, |since| outage.since.max(since)),
        kind: BumpKind::Outage,
        idea: None,
        text: outage.message,
    });
    let mut all: Vec<Bump> = ended
        .chain(sleeps)
        .chain(outages)
        .chain(rollbacks)
        .chain(accounts)
        .chain(profiles)
        .chain(of_merges(state))
        .filter(|bump| since.is_none_or(|since| bump.at >= since))
        .collect();
    all.sort_by(|a, b| (a.at, a.kind, &a.idea).cmp(&(b.at, b.kind, &b.idea)));
    all
}

/// Work that did not land at once, as far as the ideas remember it.
fn of_merges(state: &State) -> impl Iterator<Item = Bump> {
    state.ideas.iter().flat_map(|(id, idea)| {
        idea.audit.iter().filter_map(move |line| {
            let (kind, text) = match line.what.as_str() {
                "returned" => (
                    BumpKind::Returned,
                    format!("the merge of {id} failed `{}`", line.detail),
                ),
                "rejected" => (
                    BumpKind::Rejected,
                    format!("{id} was sent back: {}", line.detail),
                ),
                _ => return None,
            };
            Some(Bump {
                at: line.at,
                kind,
                idea: Some(id.clone()),
                text,
            })
        })
    })
}

fn of_end(end: AttemptEnd) -> Option<BumpKind> {
    match end {
        AttemptEnd::Crashed => Some(BumpKind::Crashed),
        AttemptEnd::Failed => Some(BumpKind::Failed),
        AttemptEnd::TimedOut => Some(BumpKind::TimedOut),
        AttemptEnd::Blocked => Some(BumpKind::Blocked),
        AttemptEnd::Merged
        | AttemptEnd::NothingToMerge
        | AttemptEnd::Stopped
        | AttemptEnd::Interrupted
        | AttemptEnd::Cancelled
        | AttemptEnd::Released
        | AttemptEnd::Redirected => None,
    }
}

/// What happened to each idea on its way, in words: `crashed once, sent back twice`.
pub fn on_the_way(bumps: &[Bump]) -> BTreeMap<IdeaId, String> {
    let mut counts: BTreeMap<&IdeaId, BTreeMap<BumpKind, usize>> = BTreeMap::new();
    for bump in bumps {
        if let Some(id) = &bump.idea {
            *counts.entry(id).or_default().entry(bump.kind).or_default() += 1;
        }
    }
    let in_words = |counts: BTreeMap<BumpKind, usize>| {
        let each = counts.into_iter().map(|(kind, count)| {
            let what = match kind {
                BumpKind::Crashed => "crashed",
                BumpKind::Failed => "failed",
                BumpKind::TimedOut => "hit its limit",
                BumpKind::Blocked => "blocked",
                BumpKind::Returned => "check of the merge failed",
                BumpKind::Rejected => "sent back by you",
                BumpKind::RolledBack => "rolled back",
                BumpKind::Account => "waited for its account",
                BumpKind::Slept => "the machine slept",
                BumpKind::Outage => "waited for what its checks need",
            };
            format!("{what} {}", times(count))
        });
        each.collect::<Vec<_>>().join(", ")
    };
    let each = counts.into_iter();
    each.map(|(id, counts)| (id.clone(), in_words(counts)))
        .collect()
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// What each profile's attempts used that ended since `since` or still run.
pub fn used_by_profile(state: &State, since: Option<Timestamp>) -> BTreeMap<ProfileName, UsedView> {
    let mut sums: BTreeMap<ProfileName, Spent> = BTreeMap::new();
    for ended in state.ended.values() {
        if since.is_none_or(|since| ended.ended_at >= since) {
            let sum = sums.entry(ended.profile.clone()).or_default();
            sum.add_all(&ended.used);
        }
    }
    for attempt in state.agents.values() {
        let sum = sums.entry(attempt.profile.clone()).or_default();
        sum.add_all(&usage::by_attempt(attempt));
    }
    let known = sums.into_iter().filter(|(_, sum)| !sum.is_nothing());
    known
        .map(|(profile, sum)| (profile, usage::used(&sum)))
        .collect()
}

/// What the attempts since `since` used whose ideas landed in that time: a part of what the report
/// says was used.
pub fn used_by_landed(
    state: &State,
    since: Option<Timestamp>,
    landed: &[ReportedIdea],
) -> UsedView {
    let landed: BTreeSet<&IdeaId> = landed.iter().map(|one| &one.id).collect();
    let recent = |at: Timestamp| since.is_none_or(|since| at >= since);
    let mut sum = Spent::default();
    for ended in state.ended.values() {
        if recent(ended.ended_at) && landed.contains(&ended.idea) {
            sum.add_all(&ended.used);
        }
    }
    for attempt in state.agents.values() {
        if landed.contains(&attempt.idea) {
            sum.add_all(&usage::by_attempt(attempt));
        }
    }
    usage::used(&sum)
}

/// How many agents worked since `since`.
pub fn worked(state: &State, since: Option<Timestamp>) -> Vec<AgentId> {
    let recent = |at: Timestamp| since.is_none_or(|since| at >= since);
    let ended = state.ended.iter().filter(|(_, one)| recent(one.ended_at));
    let ended = ended.map(|(agent, _)| agent.clone());
    ended.chain(state.agents.keys().cloned()).collect()
}
