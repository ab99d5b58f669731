//! The kinds of event, and which of them people follow.
//!
//! Invariant: the match names every kind, so that a new one does not compile until someone has said
//! who wants to see it.

use strum::VariantNames as _;

use crate::domain::effect::SetupTree;
use crate::domain::event::Event;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::signal::Signal;
use crate::domain::state::AttemptEnd;

/// The names of all kinds of event, as they stand in the log.
pub const KINDS: &[&str] = Event::VARIANTS;

/// Who wants to see an event, from the widest audience to the narrowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interest {
    /// What a person wants to know later: `swarm log`.
    Story,
    /// What a person wants to see as it happens: the progress of a daemon in the foreground.
    News,
    /// A step on the way: `swarm events`.
    Detail,
    /// How swarm keeps its own books: `swarm events --all`.
    Plumbing,
}

/// Whether the event is shown to people who follow progress.
pub fn is_news(event: &Event) -> bool {
    interest(event) <= Interest::News
}

fn either(condition: bool, then: Interest, otherwise: Interest) -> Interest {
    if condition { then } else { otherwise }
}

/// Who wants to see an event.
pub fn interest(event: &Event) -> Interest {
    use Interest::{Detail, News, Plumbing, Story};
    match event {
        Event::EffectFinished(finished) => either(finished.error.is_some(), News, Plumbing),
        Event::MergeMoved(moved) => either(moved.waits.is_some(), Story, Plumbing),
        // What waits for approval waits for a person.
        Event::MergeQueued(queued) => either(queued.held, Story, News),
        // A hook that did its job is not news.
        Event::HookFinished(finished) => either(finished.well, Detail, Story),
        Event::PhaseChanged(changed) => phase_interest(changed.phase),
        Event::SignalSeen(seen) => signal_interest(&seen.signal),
        // The thing itself has an event of its own.
        Event::NoticeFailed(failed) => either(failed.again_at.is_none(), Story, Detail),
        Event::SetupStarted(started) => match started.tree {
            SetupTree::Target => Story,
            SetupTree::Worktree { .. } | SetupTree::Merged { .. } | SetupTree::Control => Detail,
        },
        Event::SetupPassed(passed) => either(passed.last, News, Detail),
        Event::BaselinePassed(passed) => either(passed.last, Story, Detail),
        // The landing has an event of its own.
        Event::AttemptEnded(ended) => either(ended.end == AttemptEnd::Merged, Detail, Story),
        Event::DaemonStarted(_)
        | Event::NumbersRaised(_)
        | Event::PauseSet(_)
        | Event::PauseLifted(_)
        | Event::ModeSet(_)
        | Event::TargetRewritten(_)
        | Event::LandingFound(_)
        | Event::BaselineStarted(_)
        | Event::BaselineFailed(_)
        | Event::ChecksProbed(_)
        | Event::TargetSettled(_)
        | Event::IdeaAdded(_)
        | Event::IdeaEdited(_)
        | Event::AgentImported(_)
        | Event::IdeaRetried(_)
        | Event::IdeaCancelled(_)
        | Event::IdeaAssigned(_)
        | Event::IdeaHeld(_)
        | Event::CancelUndone(_)
        | Event::RedirectUndone(_)
        | Event::IdeaUnheld(_)
        | Event::IdeaClaimed(_)
        | Event::AccountHeld(_)
        | Event::AccountFreed(_)
        | Event::ProfileHeld(_)
        | Event::ProfileFreed(_)
        | Event::GateFailed(_)
        | Event::GateDoubted(_)
        | Event::GateExcused(_)
        | Event::VerifyDoubted(_)
        | Event::MessageQueued(_)
        | Event::AgentRedirected(_)
        | Event::MergeReleased(_)
        | Event::MergeApproved(_)
        | Event::MergeRejected(_)
        | Event::ApprovalWithdrawn(_)
        | Event::MergeConflicted(_)
        | Event::ConflictSettled(_)
        | Event::ResolverFailed(_)
        | Event::MergeReturned(_)
        | Event::IdeaLanded(_)
        | Event::CheckpointMade(_)
        | Event::CheckpointDeleted(_)
        | Event::RolledBack(_)
        | Event::RollbackAbandoned(_)
        | Event::HookTimedOut(_)
        | Event::NightEnded(_)
        | Event::HookApproved(_)
        | Event::Learned(_)
        | Event::FactWritten(_)
        | Event::FactDisputed(_)
        | Event::FactPinned(_)
        | Event::MemoryRetracted(_)
        | Event::WarningRaised(_)
        | Event::StateRepaired(_)
        | Event::StateRestored(_)
        | Event::SwarmImported(_)
        | Event::SwarmMoved(_)
        | Event::SwarmReclaimed(_) => Story,
        Event::SettingsLoaded(_)
        | Event::ClockWentBack(_)
        | Event::MachineSlept(_)
        | Event::RoomAwaited(_)
        | Event::WorktreesHeld(_)
        | Event::WorktreesFreed(_)
        | Event::IterationStarted(_)
        | Event::IterationExcused(_)
        | Event::SessionDropped(_)
        | Event::EndingAsked(_)
        | Event::WorkSaved(_)
        | Event::RollbackBegun(_)
        | Event::WorkImported(_)
        | Event::FactConfirmed(_)
        | Event::NotePut(_)
        | Event::NotesDropped(_)
        | Event::MemoryCompacted(_)
        | Event::ReplayAsked(_)
        | Event::ReplayJudged(_)
        | Event::WarningCleared(_) => News,
        Event::WorktreeReady(_)
        | Event::WorktreeLent(_)
        | Event::WorktreeStays(_)
        | Event::GateStarted(_)
        | Event::CommitHooksStarted(_)
        | Event::BaselineCleared(_)
        | Event::BaselineDoubted(_)
        | Event::RunStarted(_)
        | Event::RunEnded(_)
        | Event::IterationJudged(_)
        // The pause that it causes says so.
        | Event::BudgetReached(_)
        | Event::AttemptSealed(_)
        | Event::GatePassed(_)
        | Event::CommitHooksPassed(_)
        | Event::TaskSet(_)
        | Event::MergeBuilt(_)
        | Event::ConflictLaidOut(_)
        | Event::VerifyStarted(_)
        | Event::VerifyPassed(_)
        | Event::HookStarted(_)
        | Event::NeedArose(_)
        | Event::NeedSettled(_)
        | Event::NightBegan(_)
        | Event::NoticeDelivered(_)
        | Event::Synthesised(_)
        | Event::MemoryShown(_)
        | Event::MemoryRead(_)
        | Event::RecordsExpired(_)
        | Event::HookCutOff(_) => Detail,
        Event::Mark(_)
        | Event::TargetSeen(_)
        | Event::AttemptMoved(_)
        | Event::SessionBegan(_)
        | Event::ProviderAwaited(_)
        | Event::UsageSeen(_)
        | Event::AccountTried(_)
        | Event::ProfileTried(_)
        | Event::VerifyReady(_)
        | Event::BaselineReady(_)
        | Event::RollbackPlanned(_)
        | Event::RollbackStepped(_)
        | Event::HookOwed(_)
        | Event::HookAsked(_)
        | Event::UndoRecorded(_)
        | Event::WorkRescued(_)
        | Event::IterationRecorded(_)
        | Event::CommandTaken(_)
        | Event::EffectRequested(_) => Plumbing,
    }
}

fn phase_interest(phase: SwarmPhase) -> Interest {
    match phase {
        SwarmPhase::Stopped => Interest::Story,
        SwarmPhase::Recovering
        | SwarmPhase::Running
        | SwarmPhase::Paused
        | SwarmPhase::RollingBack
        | SwarmPhase::Draining => Interest::News,
        // The event of the pause says it, with the reason.
        SwarmPhase::Pausing => Interest::Detail,
    }
}

fn signal_interest(signal: &Signal) -> Interest {
    match signal {
        Signal::NeedsHuman(_) => Interest::Story,
        Signal::Complete(_) | Signal::Blocked(_) | Signal::Progress(_) | Signal::Resolved(_) => {
            Interest::News
        }
        // Learnings have events of their own.
        Signal::LearningLocal(_) | Signal::LearningGlobal(_) => Interest::Detail,
    }
}
