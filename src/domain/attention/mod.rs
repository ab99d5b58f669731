//! What needs a person: found in the state each time, never stored. `words` has the messages and
//! commands, `rest` says whether anything can still happen without a person.
//!
//! Invariant: two needs are the same thing if and only if their keys are equal. `decide` tells
//! people of each key once; `view` lists all needs for `status`.

pub mod rest;
mod words;

use serde::{Deserialize, Serialize};

use super::event::ProbeAlarm;
use super::ids::{AgentId, IdeaId, Oid, ProfileName, RunId};
use super::lifecycle::{AttemptPhase, MergePhase};
use super::settings::Settings;
use super::state::baseline::BaselineFailure;
use super::state::provider::Hold;
use super::state::worktrees::WorktreesHold;
use super::state::{Attempt, Idea, IdeaStatus, MergeEntry, Said, State, Task, Waits};

pub use words::{baseline_failure, baseline_output, names, worktree_path};

/// The question that a resolver left to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolverQuestion<'a> {
    /// The resolver's run that ended with it.
    pub run: &'a RunId,
    /// Its words.
    pub text: &'a str,
}

/// Kinds of things that people are told about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeKind {
    /// An agent asks a question.
    Question,
    /// A merge waits for approval.
    Review,
    /// A merge has a conflict that only a person can resolve.
    Conflict,
    /// A merge cannot continue.
    Merge,
    /// Local changes in a checkout of the target are in the way of a landing.
    Checkout,
    /// An idea is blocked.
    Blocked,
    /// An idea failed, or used up its iterations or its time.
    Failed,
    /// The rewritten target lacks landed work, or the target does not pass its own checks.
    Target,
    /// An account cannot be used.
    Account,
    /// Checks of the target fail for a reason outside the repository, or do not see their tree.
    Environment,
    /// swarm is paused.
    Paused,
    /// A rollback was interrupted.
    Rollback,
    /// A night ended: nothing can continue by itself.
    Ended,
}

impl NoticeKind {
    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// All kinds.
    pub const ALL: [Self; 13] = [
        Self::Question,
        Self::Review,
        Self::Conflict,
        Self::Merge,
        Self::Checkout,
        Self::Blocked,
        Self::Failed,
        Self::Target,
        Self::Account,
        Self::Environment,
        Self::Paused,
        Self::Rollback,
        Self::Ended,
    ];

    /// Its name in JSON, in `SWARM_KIND` and in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Review => "review",
            Self::Conflict => "conflict",
            Self::Merge => "merge",
            Self::Checkout => "checkout",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Target => "target",
            Self::Account => "account",
            Self::Environment => "environment",
            Self::Paused => "paused",
            Self::Rollback => "rollback",
            Self::Ended => "ended",
        }
    }
}

/// Identity of a need: what people were told of once is told again only after it was over.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum NeedKey {
    /// Landed work is missing since the target was rewritten to this commit.
    Rewritten {
        /// New commit of the target.
        to: Oid,
    },
    /// The untouched target fails this quality command, or cannot be checked out.
    Baseline {
        /// The command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    /// This quality command does not see the tree that it checks.
    Blind {
        /// The command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    /// swarm is paused.
    Paused,
    /// This account is on hold, and a person can end that.
    Account {
        /// The account's name.
        account: String,
    },
    /// Git cannot write the files of a worktree.
    Worktrees,
    /// The program of this profile cannot begin.
    Profile {
        /// The profile.
        profile: ProfileName,
    },
    /// The merge of this idea has a conflict.
    Conflict {
        /// The idea.
        idea: IdeaId,
    },
    /// The merge of this idea waits for approval.
    Review {
        /// The idea.
        idea: IdeaId,
    },
    /// The merge of this idea cannot continue.
    Merge {
        /// The idea.
        idea: IdeaId,
        /// Whether swarm retries it by itself.
        retried: bool,
    },
    /// A checkout is in the way of landing this idea.
    Checkout {
        /// The idea.
        idea: IdeaId,
        /// Whether swarm retries it by itself.
        retried: bool,
    },
    /// This agent asks a question.
    Question {
        /// The agent.
        agent: AgentId,
    },
    /// This idea failed, or used up its iterations or its time.
    Failed {
        /// The idea.
        idea: IdeaId,
    },
    /// This idea is blocked.
    Blocked {
        /// The idea.
        idea: IdeaId,
    },
    /// This idea waits for a cancelled one.
    WaitsInVain {
        /// The idea.
        idea: IdeaId,
        /// The cancelled one.
        after: IdeaId,
    },
}

/// Something that needs a person.
#[derive(Debug, Clone, Copy)]
pub struct Need<'a> {
    state: &'a State,
    what: What<'a>,
}

#[derive(Debug, Clone, Copy)]
enum What<'a> {
    Rewritten(&'a super::event::TargetRewritten, &'a str),
    Paused(&'a str),
    Baseline(&'a BaselineFailure),
    Blind(&'a ProbeAlarm),
    Worktrees(&'a WorktreesHold),
    Account(&'a str, &'a Hold),
    Profile(&'a ProfileName, &'a Hold),
    Conflict(&'a MergeEntry),
    Review(&'a MergeEntry),
    Waiting(&'a MergeEntry, &'a Waits),
    Question(&'a AgentId, &'a Attempt, &'a str),
    BadEnd(&'a IdeaId, &'a Idea),
    WaitsInVain(&'a IdeaId, &'a Idea, &'a IdeaId),
}

/// What needs a person, most urgent first.
pub fn needs(state: &State) -> Vec<Need<'_>> {
    let accounts = state.accounts.iter();
    let held = accounts.filter(|(_, hold)| hold.needs_person());
    let profiles = state.profiles.iter();
    let cannot_begin = profiles.filter(|(_, hold)| hold.needs_person());
    let open = state.ideas.open();
    let whole = [rewritten(state), paused(state), red_baseline(state)];
    let probed = state.blind_checks().into_iter();
    let alarms = probed.flat_map(|probed| &probed.found.alarms);
    whole
        .into_iter()
        .flatten()
        .chain(alarms.map(What::Blind))
        .chain(worktrees_held(state))
        .chain(held.map(|(account, hold)| What::Account(account, hold)))
        .chain(cannot_begin.map(|(profile, hold)| What::Profile(profile, hold)))
        .chain(state.queue.iter().filter_map(|it| waiting_merge(state, it)))
        .chain(
            state
                .agents
                .iter()
                .filter_map(|(id, attempt)| question(id, attempt)),
        )
        .chain(open.filter_map(|(id, idea)| bad_end(id, idea).or_else(|| in_vain(state, id, idea))))
        .map(|what| Need { state, what })
        .collect()
}

impl<'a> Need<'a> {
    /// Its kind.
    pub fn kind(&self) -> NoticeKind {
        match self.what {
            What::Baseline(failed) if failed.environment => NoticeKind::Environment,
            What::Blind(_) | What::Worktrees(_) => NoticeKind::Environment,
            What::Rewritten(..) | What::Baseline(_) => NoticeKind::Target,
            What::Paused(_) => NoticeKind::Paused,
            What::Account(..) | What::Profile(..) => NoticeKind::Account,
            What::Conflict(_) => NoticeKind::Conflict,
            What::Review(_) => NoticeKind::Review,
            What::Waiting(_, waits) if waits.files.is_empty() => NoticeKind::Merge,
            What::Waiting(..) => NoticeKind::Checkout,
            What::Question(..) => NoticeKind::Question,
            What::BadEnd(_, idea) if idea.status == IdeaStatus::Blocked => NoticeKind::Blocked,
            What::BadEnd(..) => NoticeKind::Failed,
            What::WaitsInVain(..) => NoticeKind::Blocked,
        }
    }

    /// The idea that waits.
    pub fn idea(&self) -> Option<&'a IdeaId> {
        match self.what {
            What::Rewritten(..)
            | What::Paused(_)
            | What::Baseline(_)
            | What::Blind(_)
            | What::Worktrees(_)
            | What::Account(..)
            | What::Profile(..) => None,
            What::Conflict(entry) | What::Review(entry) | What::Waiting(entry, _) => {
                Some(&entry.idea)
            }
            What::Question(_, attempt, _) => Some(&attempt.idea),
            What::BadEnd(id, _) | What::WaitsInVain(id, ..) => Some(id),
        }
    }

    /// The commit that waits for review.
    pub fn commit(&self) -> Option<&'a Oid> {
        match self.what {
            What::Review(entry) => Some(&entry.source),
            What::Rewritten(..)
            | What::Paused(_)
            | What::Baseline(_)
            | What::Blind(_)
            | What::Worktrees(_)
            | What::Account(..)
            | What::Profile(..)
            | What::Conflict(_)
            | What::Waiting(..)
            | What::Question(..)
            | What::BadEnd(..)
            | What::WaitsInVain(..) => None,
        }
    }

    /// Its identity.
    pub fn key(&self) -> NeedKey {
        match self.what {
            What::Rewritten(rewritten, _) => NeedKey::Rewritten {
                to: rewritten.to.clone(),
            },
            What::Paused(_) => NeedKey::Paused,
            What::Baseline(failed) => NeedKey::Baseline {
                command: failed.command.clone(),
            },
            What::Blind(alarm) => NeedKey::Blind {
                command: alarm.command.clone(),
            },
            What::Worktrees(_) => NeedKey::Worktrees,
            What::Account(account, _) => NeedKey::Account {
                account: account.to_owned(),
            },
            What::Profile(profile, _) => NeedKey::Profile {
                profile: profile.clone(),
            },
            What::Conflict(entry) => NeedKey::Conflict {
                idea: entry.idea.clone(),
            },
            What::Review(entry) => NeedKey::Review {
                idea: entry.idea.clone(),
            },
            What::Waiting(entry, waits) => {
                let (idea, retried) = (entry.idea.clone(), entry.not_before.is_some());
                if waits.files.is_empty() {
                    NeedKey::Merge { idea, retried }
                } else {
                    NeedKey::Checkout { idea, retried }
                }
            }
            What::Question(agent, ..) => NeedKey::Question {
                agent: agent.clone(),
            },
            What::BadEnd(id, idea) if idea.status == IdeaStatus::Blocked => {
                NeedKey::Blocked { idea: id.clone() }
            }
            What::BadEnd(id, _) => NeedKey::Failed { idea: id.clone() },
            What::WaitsInVain(id, _, after) => NeedKey::WaitsInVain {
                idea: id.clone(),
                after: after.clone(),
            },
        }
    }
}

/// Whether a need that [`needs`] no longer finds may come back without anybody having done
/// anything: swarm is trying again by itself, and has no result yet.
pub fn is_undecided(state: &State, key: &NeedKey) -> bool {
    match key {
        NeedKey::Baseline { .. } => state.is_baseline_awaited() && state.red_baseline().is_none(),
        NeedKey::Blind { .. } => state.awaits_probe(),
        NeedKey::Account { account } => {
            let held = state.accounts.get(account);
            let of_account =
                |all: &Settings, profile: &ProfileName| all.account_of(profile) == account;
            !held.is_some_and(Hold::needs_person) && !has_answered(state, of_account)
        }
        NeedKey::Profile { profile } => {
            let held = state.profiles.get(profile);
            let same = |_: &Settings, this: &ProfileName| this == profile;
            !held.is_some_and(Hold::needs_person) && !has_answered(state, same)
        }
        NeedKey::Merge { idea, retried } | NeedKey::Checkout { idea, retried } => {
            let entry = state.entry(idea).filter(|_| *retried);
            entry.is_some_and(|entry| match entry.phase {
                MergePhase::Queued => !entry.held && entry.waits.is_none(),
                MergePhase::Building | MergePhase::Verifying | MergePhase::Landing => true,
                MergePhase::Resolver | MergePhase::Person => false,
            })
        }
        NeedKey::Rewritten { .. }
        | NeedKey::Paused
        | NeedKey::Worktrees
        | NeedKey::Conflict { .. }
        | NeedKey::Review { .. }
        | NeedKey::Question { .. }
        | NeedKey::Failed { .. }
        | NeedKey::Blocked { .. }
        | NeedKey::WaitsInVain { .. } => false,
    }
}

/// Whether an agent with such a profile has got answers, so that it works again.
fn has_answered(state: &State, which: impl Fn(&Settings, &ProfileName) -> bool) -> bool {
    let Some(settings) = state.settings.as_deref() else {
        return false;
    };
    let mut attempts = state.agents.values();
    attempts.any(|attempt| {
        which(settings, settings.profile_of(attempt))
            && (attempt.using.is_some()
                || matches!(
                    attempt.phase,
                    AttemptPhase::Gating | AttemptPhase::ReadyToMerge
                ))
    })
}

fn rewritten(state: &State) -> Option<What<'_>> {
    let rewritten = state.swarm.rewritten.as_ref()?;
    let branch = &state.swarm.target.as_ref()?.branch;
    Some(What::Rewritten(rewritten, branch))
}

fn paused(state: &State) -> Option<What<'_>> {
    state.swarm.pause_reason.as_deref().map(What::Paused)
}

/// Ideas or merges wait, because the target fails its own checks.
fn red_baseline(state: &State) -> Option<What<'_>> {
    state.red_baseline().map(What::Baseline)
}

fn worktrees_held(state: &State) -> Option<What<'_>> {
    let held = state.swarm.worktrees_held.as_ref();
    held.filter(|held| held.needs_person()).map(What::Worktrees)
}

fn waiting_merge<'a>(state: &State, entry: &'a MergeEntry) -> Option<What<'a>> {
    if entry.phase == MergePhase::Person {
        // While swarm sets up or checks the conflict, nobody else may work in that worktree.
        let busy = state.is_under_way(&entry.agent, &entry.idea);
        return (!busy).then_some(What::Conflict(entry));
    }
    if entry.held {
        return Some(What::Review(entry));
    }
    let waits = entry.waits.as_ref().filter(|waits| waits.person)?;
    Some(What::Waiting(entry, waits))
}

fn question<'a>(id: &'a AgentId, attempt: &'a Attempt) -> Option<What<'a>> {
    let (AttemptPhase::WaitingForHuman, Some(Said::NeedsHuman(why))) =
        (attempt.phase, &attempt.said)
    else {
        return None;
    };
    Some(What::Question(id, attempt, why))
}

/// What the resolver of this conflict asks, as long as an answer reaches it: the next try's prompt
/// has what was said to the agent. `None` if no try is left.
pub fn resolver_question<'a>(state: &'a State, entry: &MergeEntry) -> Option<ResolverQuestion<'a>> {
    let attempt = state.agents.get(&entry.agent)?;
    let retries = state.settings.as_deref()?.conflict_retries;
    let (MergePhase::Person, Task::Resolve { .. }, Some(Said::NeedsHuman(text))) =
        (entry.phase, &attempt.task, &attempt.said)
    else {
        return None;
    };
    let run = attempt.last_iteration()?;
    (entry.resolver_tries < retries).then_some(ResolverQuestion { run, text })
}

fn bad_end<'a>(id: &'a IdeaId, idea: &'a Idea) -> Option<What<'a>> {
    idea.status.is_bad().then_some(What::BadEnd(id, idea))
}

/// An idea that can never start, because it waits for a cancelled one.
fn in_vain<'a>(state: &'a State, id: &'a IdeaId, idea: &'a Idea) -> Option<What<'a>> {
    if !matches!(idea.status, IdeaStatus::Pending | IdeaStatus::Merging) {
        return None;
    }
    let cancelled = |id: &&IdeaId| {
        let before = state.ideas.get(*id);
        before.is_some_and(|before| before.status == IdeaStatus::Cancelled)
    };
    let before = idea.after.iter().find(cancelled)?;
    Some(What::WaitsInVain(id, idea, before))
}
