//! The kinds of event, and which of them people follow.
//!
//! Invariant: the match names every kind, so that a new one does not compile until someone has said
//! who wants to see it.

use strum::VariantNames as _;

use crate::domain::event::Event;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::signal::Signal;
use crate::domain::state::AttemptEnd;

/// The names of all kinds of event, as they stand in the log.
pub const KINDS: &[&str] = Event::VARIANTS;

/// Whether the event is shown to people who follow progress.
pub fn is_news(event: &Event) -> bool {
    match event {
        Event::EffectFinished(finished) => finished.error.is_some(),
        Event::MergeMoved(moved) => moved.waits.is_some(),
        // A hook that did its job is not news.
        Event::HookFinished(finished) => !finished.well,
        // The event of the pause says it, with the reason.
        Event::PhaseChanged(changed) => changed.phase != SwarmPhase::Pausing,
        // Learnings and landings have events of their own.
        Event::SignalSeen(seen) => !matches!(
            seen.signal,
            Signal::LearningLocal(_) | Signal::LearningGlobal(_)
        ),
        Event::AttemptEnded(ended) => ended.end != AttemptEnd::Merged,
        Event::DaemonStarted(_)
        | Event::PauseSet(_)
        | Event::PauseLifted(_)
        | Event::SettingsLoaded(_)
        | Event::ModeSet(_)
        | Event::ClockWentBack(_)
        | Event::RoomAwaited(_)
        | Event::TargetRewritten(_)
        | Event::TargetSettled(_)
        | Event::IdeaAdded(_)
        | Event::IdeaEdited(_)
        | Event::IdeaRetried(_)
        | Event::IdeaCancelled(_)
        | Event::IdeaAssigned(_)
        | Event::IdeaClaimed(_)
        | Event::IterationStarted(_)
        | Event::IterationExcused(_)
        | Event::SessionDropped(_)
        | Event::AccountHeld(_)
        | Event::AccountFreed(_)
        | Event::GateFailed(_)
        | Event::MessageQueued(_)
        | Event::EndingAsked(_)
        | Event::AgentRedirected(_)
        | Event::WorkSaved(_)
        | Event::MergeQueued(_)
        | Event::MergeReleased(_)
        | Event::MergeConflicted(_)
        | Event::ConflictSettled(_)
        | Event::ResolverFailed(_)
        | Event::MergeReturned(_)
        | Event::IdeaLanded(_)
        | Event::CheckpointMade(_)
        | Event::CheckpointDeleted(_)
        | Event::RollbackBegun(_)
        | Event::RolledBack(_)
        | Event::RollbackAbandoned(_)
        | Event::HookTimedOut(_)
        | Event::HookApproved(_)
        | Event::Learned(_)
        | Event::WarningRaised(_)
        | Event::WarningCleared(_)
        | Event::StateRepaired(_)
        | Event::StateRestored(_) => true,
        Event::Mark(_)
        | Event::TargetSeen(_)
        | Event::AttemptMoved(_)
        | Event::WorktreeReady(_)
        | Event::GateStarted(_)
        | Event::RunStarted(_)
        | Event::RunEnded(_)
        | Event::IterationJudged(_)
        | Event::SessionBegan(_)
        | Event::UsageSeen(_)
        | Event::AccountTried(_)
        // The pause that it causes says so.
        | Event::BudgetReached(_)
        | Event::AttemptSealed(_)
        | Event::GatePassed(_)
        | Event::TaskSet(_)
        | Event::MergeBuilt(_)
        | Event::ConflictLaidOut(_)
        | Event::VerifyReady(_)
        | Event::VerifyStarted(_)
        | Event::VerifyPassed(_)
        | Event::RollbackPlanned(_)
        | Event::RollbackStepped(_)
        | Event::HookOwed(_)
        | Event::HookAsked(_)
        | Event::HookStarted(_)
        | Event::HookCutOff(_)
        | Event::EffectRequested(_) => false,
    }
}
