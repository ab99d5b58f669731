//! The calls that an event causes, each announced by a `hookOwed` event before it.
//!
//! Invariant: only configured hooks are called, and only `decide` asks: what is in the log was
//! announced, so a changed rule changes no log. Called by `Plan::emit`.

use std::collections::BTreeMap;

use crate::domain::attention::{NoticeKind, baseline_failure};
use crate::domain::effect::ConflictLevel;
use crate::domain::event::{
    AttemptEnded, BaselineFailed, Event, HookAsked, HookOwed, IdeaLanded, Learned, MergeBuilt,
    MergeConflicted, MergeQueued, NeedArose, NightEnded, PauseSet, WarningRaised,
};
use crate::domain::hook::HookName;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::state::{Attempt, AttemptEnd, IdeaStatus, State};
use crate::domain::time::Timestamp;
use crate::domain::warning::WarningKind;

struct Call {
    hook: HookName,
    idea: Option<IdeaId>,
    agent: Option<AgentId>,
    facts: Facts,
}

type Facts = BTreeMap<String, String>;

/// Variables of a call, without the prefix `SWARM_`.
fn facts<const N: usize>(pairs: [(&str, String); N]) -> Facts {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn call(hook: HookName, idea: Option<&IdeaId>, agent: Option<&AgentId>, facts: Facts) -> Vec<Call> {
    vec![Call {
        hook,
        idea: idea.cloned(),
        agent: agent.cloned(),
        facts,
    }]
}

/// Calls of configured hooks that an event causes, given the state before it.
pub(crate) fn owed_by(state: &State, at: Timestamp, event: &Event) -> Vec<HookOwed> {
    let Some(settings) = state.settings.as_ref().filter(|it| !it.hooks.is_empty()) else {
        return Vec::new();
    };
    let calls = caused_by(state, at, event).into_iter();
    let configured = calls.filter(|call| settings.hooks.contains_key(&call.hook));
    let owed = |call: Call| HookOwed {
        hook: call.hook,
        of: event.kind().to_owned(),
        idea: call.idea,
        agent: call.agent,
        facts: call.facts,
    };
    configured.map(owed).collect()
}

fn caused_by(state: &State, at: Timestamp, event: &Event) -> Vec<Call> {
    match event {
        Event::HookAsked(HookAsked { hook, id, agent }) => asked(state, *hook, id, agent)
            .map_or_else(Vec::new, |facts| call(*hook, Some(id), Some(agent), facts)),
        Event::AttemptEnded(AttemptEnded {
            agent,
            end,
            status,
            message,
            ..
        }) => ended(state, at, agent, *end, *status, message.as_deref()),
        // Reported before the merge queue, since the work is complete. Work that the queue returns
        // has been reported already.
        Event::MergeQueued(MergeQueued { id, agent, .. }) => match state.agents.get(agent) {
            Some(attempt) if attempt.returns == 0 && state.entry(id).is_none() => {
                complete(at, agent, attempt, IdeaStatus::Done)
            }
            _ => Vec::new(),
        },
        Event::IdeaLanded(IdeaLanded { id, commit, .. }) => {
            let facts = facts([
                ("IDEA_ID", id.to_string()),
                ("COMMIT_HASH", commit.to_string()),
                ("TARGET", target(state)),
            ]);
            call(HookName::PostMerge, Some(id), None, facts)
        }
        Event::MergeConflicted(MergeConflicted {
            id, level, files, ..
        }) => conflict(id, *level, files),
        Event::MergeBuilt(MergeBuilt { id, resolved, .. }) if !resolved.is_empty() => {
            conflict(id, ConflictLevel::Simple, resolved)
        }
        Event::Learned(Learned {
            id,
            global,
            content,
            ..
        }) if !state.learnings.iter().any(|known| known.id == *id) => {
            let scope = if *global { "global" } else { "local" };
            let facts = facts([
                ("LEARNING_ID", id.clone()),
                ("SCOPE", scope.to_owned()),
                ("CONTENT", content.clone()),
            ]);
            call(HookName::OnLearning, None, None, facts)
        }
        Event::PauseSet(PauseSet { reason, .. }) => {
            let running = state.agents.values().map(|attempt| attempt.idea.as_str());
            let facts = facts([
                ("REASON", reason.clone()),
                ("RUNNING_IDEAS", running.collect::<Vec<_>>().join(",")),
            ]);
            call(HookName::OnPause, None, None, facts)
        }
        // A failing hook is not told about itself.
        Event::WarningRaised(WarningRaised { key, message, .. })
            if WarningKind::of(key) != Some(WarningKind::Hook) =>
        {
            error("warning", message, None)
        }
        Event::BaselineFailed(failed) => outage(state, failed),
        Event::NeedArose(NeedArose {
            kind,
            idea,
            message,
            commands,
            ..
        }) => needs_you(*kind, idea.as_ref(), message, commands),
        Event::NightEnded(NightEnded {
            message, commands, ..
        }) => needs_you(NoticeKind::Ended, None, message, commands),
        // No hook is told of these.
        Event::Mark(_)
        | Event::DaemonStarted(_)
        | Event::NumbersRaised(_)
        | Event::PhaseChanged(_)
        | Event::PauseLifted(_)
        | Event::SettingsLoaded(_)
        | Event::ModeSet(_)
        | Event::ClockWentBack(_)
        | Event::MachineSlept(_)
        | Event::RoomAwaited(_)
        | Event::WorktreesHeld(_)
        | Event::WorktreesFreed(_)
        | Event::TargetSeen(_)
        | Event::TargetRewritten(_)
        | Event::LandingFound(_)
        | Event::TargetSettled(_)
        | Event::BaselineReady(_)
        | Event::BaselineStarted(_)
        | Event::BaselinePassed(_)
        | Event::BaselineCleared(_)
        | Event::ChecksProbed(_)
        | Event::BaselineDoubted(_)
        | Event::GateDoubted(_)
        | Event::GateExcused(_)
        | Event::VerifyDoubted(_)
        | Event::SetupStarted(_)
        | Event::SetupPassed(_)
        | Event::IdeaAdded(_)
        | Event::IdeaEdited(_)
        | Event::IdeaRetried(_)
        | Event::IdeaCancelled(_)
        | Event::IdeaAssigned(_)
        | Event::IdeaHeld(_)
        | Event::UndoRecorded(_)
        | Event::CancelUndone(_)
        | Event::RedirectUndone(_)
        | Event::WorkRescued(_)
        | Event::IdeaUnheld(_)
        | Event::IdeaClaimed(_)
        | Event::AttemptMoved(_)
        | Event::WorktreeReady(_)
        | Event::WorktreeLent(_)
        | Event::WorktreeStays(_)
        | Event::IterationStarted(_)
        | Event::GateStarted(_)
        | Event::CommitHooksStarted(_)
        | Event::RunStarted(_)
        | Event::RunEnded(_)
        | Event::SignalSeen(_)
        | Event::IterationJudged(_)
        | Event::IterationExcused(_)
        | Event::SessionBegan(_)
        | Event::ProviderAwaited(_)
        | Event::SessionDropped(_)
        | Event::UsageSeen(_)
        | Event::AccountHeld(_)
        | Event::AccountTried(_)
        | Event::AccountFreed(_)
        | Event::ProfileHeld(_)
        | Event::ProfileTried(_)
        | Event::ProfileFreed(_)
        | Event::BudgetReached(_)
        | Event::AttemptSealed(_)
        | Event::GatePassed(_)
        | Event::CommitHooksPassed(_)
        | Event::GateFailed(_)
        | Event::TaskSet(_)
        | Event::MessageQueued(_)
        | Event::EndingAsked(_)
        | Event::AgentRedirected(_)
        | Event::WorkSaved(_)
        | Event::MergeMoved(_)
        | Event::MergeReleased(_)
        | Event::MergeApproved(_)
        | Event::MergeRejected(_)
        | Event::ApprovalWithdrawn(_)
        | Event::MergeBuilt(_)
        | Event::ConflictLaidOut(_)
        | Event::ConflictSettled(_)
        | Event::ResolverFailed(_)
        | Event::VerifyReady(_)
        | Event::VerifyStarted(_)
        | Event::VerifyPassed(_)
        | Event::MergeReturned(_)
        | Event::CheckpointMade(_)
        | Event::CheckpointDeleted(_)
        | Event::RollbackBegun(_)
        | Event::RollbackPlanned(_)
        | Event::RollbackStepped(_)
        | Event::RolledBack(_)
        | Event::RollbackAbandoned(_)
        | Event::HookOwed(_)
        | Event::HookStarted(_)
        | Event::HookCutOff(_)
        | Event::HookFinished(_)
        | Event::HookTimedOut(_)
        | Event::HookApproved(_)
        | Event::NeedSettled(_)
        | Event::NightBegan(_)
        | Event::NoticeDelivered(_)
        | Event::NoticeFailed(_)
        | Event::Learned(_)
        | Event::FactWritten(_)
        | Event::FactConfirmed(_)
        | Event::FactDisputed(_)
        | Event::FactPinned(_)
        | Event::MemoryRetracted(_)
        | Event::NotePut(_)
        | Event::NotesDropped(_)
        | Event::MemoryShown(_)
        | Event::MemoryRead(_)
        | Event::MemoryCompacted(_)
        | Event::Synthesised(_)
        | Event::IterationRecorded(_)
        | Event::RecordsExpired(_)
        | Event::ReplayAsked(_)
        | Event::ReplayJudged(_)
        | Event::CommandTaken(_)
        | Event::WarningRaised(_)
        | Event::WarningCleared(_)
        | Event::EffectRequested(_)
        | Event::EffectFinished(_)
        | Event::StateRepaired(_)
        | Event::StateRestored(_)
        | Event::SwarmImported(_)
        | Event::WorkImported(_)
        | Event::SwarmMoved(_)
        | Event::SwarmReclaimed(_)
        | Event::AgentImported(_) => Vec::new(),
    }
}

fn error(kind: &str, message: &str, idea: Option<&IdeaId>) -> Vec<Call> {
    let facts = facts([
        ("ERROR_TYPE", kind.to_owned()),
        ("MESSAGE", message.to_owned()),
        ("IDEA_ID", idea.map_or_else(String::new, IdeaId::to_string)),
    ]);
    call(HookName::OnError, idea, None, facts)
}

/// Something outside the work is broken; told once.
fn outage(state: &State, failed: &BaselineFailed) -> Vec<Call> {
    let Some(settings) = state.settings.as_deref() else {
        return Vec::new();
    };
    let baseline = &state.swarm.baseline;
    let failure = baseline.failure(failed);
    if !failure.environment || baseline.outage.is_some() {
        return Vec::new();
    }
    let message = format!(
        "{}. No idea is charged; swarm checks again by itself. After the fix: swarm resume",
        baseline_failure(&failure, settings)
    );
    error(NoticeKind::Environment.as_str(), &message, None)
}

/// People are needed, or a night ended.
fn needs_you(
    kind: NoticeKind,
    idea: Option<&IdeaId>,
    message: &str,
    commands: &[String],
) -> Vec<Call> {
    let facts = facts([
        ("KIND", kind.as_str().to_owned()),
        ("IDEA_ID", idea.map_or_else(String::new, IdeaId::to_string)),
        ("MESSAGE", message.to_owned()),
        ("COMMANDS", commands.join("\n")),
    ]);
    call(HookName::OnNeedsYou, idea, None, facts)
}

/// For hooks, an attempt that continues later has not ended.
fn ended(
    state: &State,
    at: Timestamp,
    agent: &AgentId,
    end: AttemptEnd,
    status: IdeaStatus,
    message: Option<&str>,
) -> Vec<Call> {
    let Some(attempt) = state.agents.get(agent) else {
        return Vec::new();
    };
    let idea = &attempt.idea;
    let mut calls = Vec::new();
    if status.is_bad() {
        calls.extend(complete(at, agent, attempt, status));
    }
    let kind = match end {
        AttemptEnd::Failed => "failed",
        AttemptEnd::TimedOut => "timeout",
        AttemptEnd::Crashed => "crashed",
        AttemptEnd::Blocked => "blocked",
        AttemptEnd::Merged
        | AttemptEnd::NothingToMerge
        | AttemptEnd::Stopped
        | AttemptEnd::Interrupted
        | AttemptEnd::Cancelled
        | AttemptEnd::Released
        | AttemptEnd::Redirected => return calls,
    };
    calls.extend(error(kind, message.unwrap_or_default(), Some(idea)));
    calls
}

fn complete(at: Timestamp, agent: &AgentId, attempt: &Attempt, status: IdeaStatus) -> Vec<Call> {
    let seconds = at.since(attempt.claimed_at).max(0) / 1_000;
    let facts = facts([
        ("IDEA_ID", attempt.idea.to_string()),
        ("AGENT", agent.to_string()),
        ("STATUS", status.as_str().to_owned()),
        ("DURATION", seconds.to_string()),
        ("BRANCH", attempt.branch.clone()),
    ]);
    let idea = Some(&attempt.idea);
    call(HookName::PostComplete, idea, Some(agent), facts)
}

fn target(state: &State) -> String {
    let settings = state.settings.as_ref();
    settings.map_or_else(String::new, |settings| settings.target.clone())
}

fn conflict(id: &IdeaId, level: ConflictLevel, files: &[String]) -> Vec<Call> {
    let level = match level {
        ConflictLevel::Simple => "SIMPLE",
        ConflictLevel::Medium => "MEDIUM",
        ConflictLevel::Complex => "COMPLEX",
    };
    let facts = facts([
        ("IDEA_ID", id.to_string()),
        ("FILES", files.join("\n")),
        ("LEVEL", level.to_owned()),
    ]);
    call(HookName::OnConflict, Some(id), None, facts)
}

fn asked(state: &State, hook: HookName, id: &IdeaId, agent: &AgentId) -> Option<Facts> {
    if hook == HookName::PreMerge {
        let entry = state.entry(id)?;
        let commit = entry.commit.as_ref()?;
        return Some(facts([
            ("IDEA_ID", id.to_string()),
            ("BRANCH", entry.branch.clone()),
            ("TARGET", target(state)),
            ("COMMIT_HASH", commit.to_string()),
        ]));
    }
    let attempt = state.agents.get(agent)?;
    Some(facts([
        ("IDEA_ID", id.to_string()),
        ("AGENT", agent.to_string()),
        ("WORKTREE", attempt.worktree.clone()),
        ("BRANCH", attempt.branch.clone()),
    ]))
}
