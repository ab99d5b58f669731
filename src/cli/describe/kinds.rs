//! The kinds of event, and which of them people follow.
//!
//! Invariant: every kind has its weight.

use strum::VariantNames as _;

use crate::domain::event::Event;

/// The names of all kinds of event, as they stand in the log.
pub const KINDS: &[&str] = Event::VARIANTS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// For those who follow what happens.
    News,
    /// For those who look into how it happens.
    Inner,
}

pub(super) fn weight(event: &Event) -> Weight {
    match event {
        Event::DaemonStarted(_)
        | Event::PhaseChanged(_)
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
        | Event::SignalSeen(_)
        | Event::IterationExcused(_)
        | Event::SessionDropped(_)
        | Event::AccountHeld(_)
        | Event::AccountFreed(_)
        | Event::BudgetReached(_)
        | Event::GateFailed(_)
        | Event::MessageQueued(_)
        | Event::EndingAsked(_)
        | Event::AgentRedirected(_)
        | Event::WorkSaved(_)
        | Event::AttemptEnded(_)
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
        | Event::HookFinished(_)
        | Event::HookTimedOut(_)
        | Event::HookApproved(_)
        | Event::Learned(_)
        | Event::WarningRaised(_)
        | Event::WarningCleared(_)
        | Event::StateRepaired(_)
        | Event::StateRestored(_) => Weight::News,
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
        | Event::AttemptSealed(_)
        | Event::GatePassed(_)
        | Event::TaskSet(_)
        | Event::MergeMoved(_)
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
        | Event::EffectRequested(_)
        | Event::EffectFinished(_) => Weight::Inner,
    }
}
