//! The kinds of event, and which of them people follow.
//!
//! Invariant: every kind has its name of the log and its weight.

use crate::domain::event::Event;

macro_rules! kinds {
    ($($variant:ident $name:literal $weight:ident,)*) => {
        /// The names of all kinds of event, as they stand in the log.
        pub const KINDS: &[&str] = &[$($name),*];

        pub(super) fn weight(event: &Event) -> Weight {
            match event { $(Event::$variant { .. } => Weight::$weight),* }
        }
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// For those who follow what happens.
    News,
    /// For those who look into how it happens.
    Inner,
}

kinds! {
    Mark "mark" Inner,
    DaemonStarted "daemonStarted" News,
    PhaseChanged "phaseChanged" News,
    PauseSet "pauseSet" News,
    PauseLifted "pauseLifted" News,
    SettingsLoaded "settingsLoaded" News,
    ModeSet "modeSet" News,
    ClockWentBack "clockWentBack" News,
    RoomAwaited "roomAwaited" News,
    TargetSeen "targetSeen" Inner,
    TargetRewritten "targetRewritten" News,
    TargetSettled "targetSettled" News,
    IdeaAdded "ideaAdded" News,
    IdeaEdited "ideaEdited" News,
    IdeaRetried "ideaRetried" News,
    IdeaCancelled "ideaCancelled" News,
    IdeaAssigned "ideaAssigned" News,
    IdeaClaimed "ideaClaimed" News,
    AttemptMoved "attemptMoved" Inner,
    WorktreeReady "worktreeReady" Inner,
    IterationStarted "iterationStarted" News,
    GateStarted "gateStarted" Inner,
    RunStarted "runStarted" Inner,
    RunEnded "runEnded" Inner,
    SignalSeen "signalSeen" News,
    IterationJudged "iterationJudged" Inner,
    IterationExcused "iterationExcused" News,
    SessionBegan "sessionBegan" Inner,
    SessionDropped "sessionDropped" News,
    UsageSeen "usageSeen" Inner,
    AccountHeld "accountHeld" News,
    AccountTried "accountTried" Inner,
    AccountFreed "accountFreed" News,
    BudgetReached "budgetReached" News,
    AttemptSealed "attemptSealed" Inner,
    GatePassed "gatePassed" Inner,
    GateFailed "gateFailed" News,
    TaskSet "taskSet" Inner,
    MessageQueued "messageQueued" News,
    EndingAsked "endingAsked" News,
    AgentRedirected "agentRedirected" News,
    WorkSaved "workSaved" News,
    AttemptEnded "attemptEnded" News,
    MergeQueued "mergeQueued" News,
    MergeMoved "mergeMoved" Inner,
    MergeReleased "mergeReleased" News,
    MergeBuilt "mergeBuilt" Inner,
    MergeConflicted "mergeConflicted" News,
    ConflictLaidOut "conflictLaidOut" Inner,
    ConflictSettled "conflictSettled" News,
    ResolverFailed "resolverFailed" News,
    VerifyReady "verifyReady" Inner,
    VerifyStarted "verifyStarted" Inner,
    VerifyPassed "verifyPassed" Inner,
    MergeReturned "mergeReturned" News,
    IdeaLanded "ideaLanded" News,
    CheckpointMade "checkpointMade" News,
    CheckpointDeleted "checkpointDeleted" News,
    RollbackBegun "rollbackBegun" News,
    RollbackPlanned "rollbackPlanned" Inner,
    RollbackStepped "rollbackStepped" Inner,
    RolledBack "rolledBack" News,
    RollbackAbandoned "rollbackAbandoned" News,
    HookAsked "hookAsked" Inner,
    HookStarted "hookStarted" Inner,
    HookCutOff "hookCutOff" Inner,
    HookFinished "hookFinished" News,
    HookTimedOut "hookTimedOut" News,
    HookApproved "hookApproved" News,
    Learned "learned" News,
    WarningRaised "warningRaised" News,
    WarningCleared "warningCleared" News,
    EffectRequested "effectRequested" Inner,
    EffectFinished "effectFinished" Inner,
    StateRepaired "stateRepaired" News,
    StateRestored "stateRestored" News,
}
