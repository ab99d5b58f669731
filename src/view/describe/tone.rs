//! The tone of an event's line.
//!
//! Invariant: the match names every kind of event, so that a new one does not compile until it has
//! a tone.

use super::text::Tone;
use crate::domain::event::{AttemptEnded, EffectFinished, Event, HookFinished, SignalSeen};
use crate::domain::signal::Signal;

/// The tone of an event's line: good, bad, worth a look, or plain.
pub fn tone(event: &Event) -> Tone {
    match event {
        Event::IdeaLanded(_) => Tone::Good,
        Event::AttemptEnded(AttemptEnded { status, .. }) if status.is_bad() => Tone::Bad,
        Event::SignalSeen(SignalSeen {
            signal: Signal::Blocked(_) | Signal::NeedsHuman(_),
            ..
        })
        | Event::HookFinished(HookFinished { well: false, .. })
        | Event::EffectFinished(EffectFinished { error: Some(_), .. })
        | Event::WarningRaised(_)
        | Event::HookTimedOut(_)
        | Event::NeedArose(_)
        | Event::NoticeFailed(_)
        | Event::TargetRewritten(_)
        | Event::ClockWentBack(_)
        | Event::PauseSet(_)
        | Event::MergeConflicted(_)
        | Event::MergeReturned(_)
        | Event::MergeRejected(_)
        | Event::ApprovalWithdrawn(_)
        | Event::ResolverFailed(_)
        | Event::StateRepaired(_)
        | Event::StateRestored(_)
        | Event::BaselineFailed(_)
        | Event::GateFailed(_) => Tone::Warn,
        Event::IdeaClaimed(_) | Event::IterationStarted(_) => Tone::Live,
        Event::EffectFinished(_)
        | Event::Mark(_)
        | Event::TargetSeen(_)
        | Event::AttemptMoved(_)
        | Event::WorktreeReady(_)
        | Event::GateStarted(_)
        | Event::BaselineReady(_)
        | Event::BaselineCleared(_)
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
        | Event::NeedSettled(_)
        | Event::NightBegan(_)
        | Event::NoticeDelivered(_)
        | Event::HookCutOff(_)
        | Event::UndoRecorded(_)
        | Event::WorkRescued(_)
        | Event::EffectRequested(_) => Tone::Dim,
        Event::AttemptEnded(_)
        | Event::SignalSeen(_)
        | Event::HookFinished(_)
        | Event::DaemonStarted(_)
        | Event::PhaseChanged(_)
        | Event::PauseLifted(_)
        | Event::BaselineStarted(_)
        | Event::BaselinePassed(_)
        | Event::SetupStarted(_)
        | Event::SetupPassed(_)
        | Event::SettingsLoaded(_)
        | Event::ModeSet(_)
        | Event::RoomAwaited(_)
        | Event::TargetSettled(_)
        | Event::IdeaAdded(_)
        | Event::IdeaEdited(_)
        | Event::IdeaRetried(_)
        | Event::IdeaCancelled(_)
        | Event::IdeaAssigned(_)
        | Event::IdeaHeld(_)
        | Event::CancelUndone(_)
        | Event::RedirectUndone(_)
        | Event::IdeaUnheld(_)
        | Event::IterationExcused(_)
        | Event::SessionDropped(_)
        | Event::AccountHeld(_)
        | Event::AccountFreed(_)
        | Event::BudgetReached(_)
        | Event::MessageQueued(_)
        | Event::EndingAsked(_)
        | Event::AgentRedirected(_)
        | Event::WorkSaved(_)
        | Event::MergeQueued(_)
        | Event::MergeReleased(_)
        | Event::MergeApproved(_)
        | Event::ConflictSettled(_)
        | Event::CheckpointMade(_)
        | Event::CheckpointDeleted(_)
        | Event::RollbackBegun(_)
        | Event::RolledBack(_)
        | Event::RollbackAbandoned(_)
        | Event::HookApproved(_)
        | Event::NightEnded(_)
        | Event::Learned(_)
        | Event::WarningCleared(_) => Tone::Plain,
    }
}
