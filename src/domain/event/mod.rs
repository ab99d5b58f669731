//! Journaled facts. An event says what is now so; it never asks for a decision.
//!
//! Invariant: an event is small (a log line is at most 64 KiB) and holds no path of the machine, no
//! secret and no process identity. Kinds and fields are only ever added; what is gone stays
//! readable. Each kind has its own struct, in a file by family.

mod attempt;
mod checkpoint;
mod hook;
mod idea;
mod merge;
mod provider;
mod redirect;
mod swarm;

use serde::{Deserialize, Serialize};

use crate::domain::effect::Effect;
use crate::domain::ids::{AgentId, EffectId, IdeaId};
use crate::domain::lifecycle::{AttemptPhase, MergePhase};

pub use attempt::*;
pub use checkpoint::*;
pub use hook::*;
pub use idea::*;
pub use merge::*;
pub use provider::*;
pub use redirect::*;
pub use swarm::*;

/// A fact.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    derive_more::From,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[serde(tag = "kind", content = "data", rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum Event {
    /// Everything before this line is on disk.
    Mark(Mark),
    /// A daemon took over.
    DaemonStarted(DaemonStarted),
    /// The swarm's phase changed.
    PhaseChanged(PhaseChanged),
    /// A pause is in force.
    PauseSet(PauseSet),
    /// The pause is over.
    PauseLifted(PauseLifted),
    /// The configuration that decisions use from now on.
    SettingsLoaded(SettingsLoaded),
    /// Another mode than the configuration's is in force; none: the configuration's.
    ModeSet(ModeSet),
    /// The wall clock went back.
    ClockWentBack(ClockWentBack),
    /// The disk is full; nothing is started for a while, then it is tried again.
    RoomAwaited(RoomAwaited),
    /// Where the target was seen.
    TargetSeen(TargetSeen),
    /// The target no longer contains the commit where it was last seen.
    TargetRewritten(TargetRewritten),
    /// Somebody said what to do about it.
    TargetSettled(TargetSettled),

    /// An idea was added.
    IdeaAdded(IdeaAdded),
    /// An idea was changed.
    IdeaEdited(IdeaEdited),
    /// An idea that ended badly is pending again, its crashes forgotten; its failures still lower
    /// its score.
    IdeaRetried(IdeaRetried),
    /// An idea is not wanted any more.
    IdeaCancelled(IdeaCancelled),
    /// A person wants it done.
    IdeaAssigned(IdeaAssigned),

    /// An agent was given an idea.
    IdeaClaimed(IdeaClaimed),
    /// An attempt's phase changed.
    AttemptMoved(AttemptMoved),
    /// The worktree is there.
    WorktreeReady(WorktreeReady),
    /// An iteration begins.
    IterationStarted(IterationStarted),
    /// A quality command begins in the attempt's worktree.
    GateStarted(GateStarted),
    /// The child of a run is running.
    RunStarted(RunStarted),
    /// A run is over.
    RunEnded(RunEnded),
    /// An agent said something in the signal protocol.
    SignalSeen(SignalSeen),
    /// How an iteration without a result counts against the limits.
    IterationJudged(IterationJudged),
    /// An iteration does not count: its service was to blame, or its conversation. With it the
    /// attempt comes to its boundary: one event, so that no torn log can hold half of it.
    IterationExcused(IterationExcused),
    /// An attempt has a conversation.
    SessionBegan(SessionBegan),
    /// An attempt's conversation cannot go on; the next iteration begins a new one.
    SessionDropped(SessionDropped),
    /// What the present iteration of an attempt has used up to now.
    UsageSeen(UsageSeen),
    /// Nothing of this account is started for a while.
    AccountHeld(AccountHeld),
    /// The time is over, and one run tries whether the account works again.
    AccountTried(AccountTried),
    /// The account works again, or somebody said so.
    AccountFreed(AccountFreed),
    /// The budget of a day paused the swarm.
    BudgetReached(BudgetReached),
    /// Where the branch stands after an iteration.
    AttemptSealed(AttemptSealed),
    /// A quality command passed in the attempt's worktree.
    GatePassed(GatePassed),
    /// A quality command failed; the next prompt carries it.
    GateFailed(GateFailed),
    /// The attempt has another task.
    TaskSet(TaskSet),
    /// A person said something to an agent.
    MessageQueued(MessageQueued),
    /// An attempt is to end.
    EndingAsked(EndingAsked),
    /// An attempt is to end, and another idea takes its place.
    AgentRedirected(AgentRedirected),
    /// The work in progress of a redirected attempt is committed.
    WorkSaved(WorkSaved),
    /// An attempt is over.
    AttemptEnded(AttemptEnded),

    /// Finished work entered the merge queue.
    MergeQueued(MergeQueued),
    /// An entry's phase changed.
    MergeMoved(MergeMoved),
    /// A held entry may go on.
    MergeReleased(MergeReleased),
    /// The merged commit exists.
    MergeBuilt(MergeBuilt),
    /// The merge has a conflict.
    MergeConflicted(MergeConflicted),
    /// The conflict lies in the worktree.
    ConflictLaidOut(ConflictLaidOut),
    /// The conflict is settled; the branch holds the target.
    ConflictSettled(ConflictSettled),
    /// A resolver's try did not settle it.
    ResolverFailed(ResolverFailed),
    /// The merged tree is checked out.
    VerifyReady(VerifyReady),
    /// A quality command begins on the merged tree.
    VerifyStarted(VerifyStarted),
    /// A quality command passed on the merged tree.
    VerifyPassed(VerifyPassed),
    /// The work goes back to its agent for another iteration.
    MergeReturned(MergeReturned),
    /// The target contains the work.
    IdeaLanded(IdeaLanded),

    /// A checkpoint was made.
    CheckpointMade(CheckpointMade),
    /// A checkpoint is gone.
    CheckpointDeleted(CheckpointDeleted),
    /// A rollback is under way.
    RollbackBegun(RollbackBegun),
    /// What the rollback will make of an idea.
    RollbackPlanned(RollbackPlanned),
    /// The rollback has come to its next step.
    RollbackStepped(RollbackStepped),
    /// The target and the ideas are what they were at the checkpoint.
    RolledBack(RolledBack),
    /// The rollback was abandoned; the target and the ideas are as they were.
    RollbackAbandoned(RollbackAbandoned),

    /// A hook is to be called about the event that comes next. It comes first, so that no torn log
    /// can hold the event without the call.
    HookOwed(HookOwed),
    /// A hook that can hold a step is to be asked.
    HookAsked(HookAsked),
    /// A hook is called.
    HookStarted(HookStarted),
    /// A call was cut off by a crash or by the daemon's end; it is made again.
    HookCutOff(HookCutOff),
    /// A call is over.
    HookFinished(HookFinished),
    /// A call took too long and was ended.
    HookTimedOut(HookTimedOut),
    /// A person has approved what an agent's landed work made of a hook.
    HookApproved(HookApproved),
    /// An agent found something out.
    Learned(Learned),
    /// Something that people should know.
    WarningRaised(WarningRaised),
    /// It is over.
    WarningCleared(WarningCleared),

    /// The shell must do this.
    EffectRequested(EffectRequested),
    /// It is done, or could not be.
    EffectFinished(EffectFinished),

    /// Damaged state was repaired: events are gone, their numbers never come back.
    StateRepaired(StateRepaired),
    /// After damage the log begins here: the whole state after this record lies in a file beside
    /// it.
    StateRestored(StateRestored),
}

impl Event {
    /// Its kind, as the log names it.
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// The idea that it adds.
    pub fn added_idea(&self) -> Option<&IdeaId> {
        if let Self::IdeaAdded(added) = self {
            Some(&added.id)
        } else {
            None
        }
    }

    /// The phase that it brings an attempt to.
    pub fn attempt_phase(&self) -> Option<(&AgentId, AttemptPhase)> {
        if let Self::AttemptMoved(moved) = self {
            return Some((&moved.agent, moved.phase));
        }
        if let Self::IterationExcused(excused) = self {
            return Some((&excused.agent, excused.phase?));
        }
        None
    }

    /// The phase that it brings an entry of the merge queue to.
    pub fn merge_phase(&self) -> Option<(&IdeaId, MergePhase)> {
        if let Self::MergeMoved(moved) = self {
            Some((&moved.id, moved.phase))
        } else {
            None
        }
    }

    /// The effect that it requests.
    pub fn requested_effect(&self) -> Option<(EffectId, &Effect)> {
        if let Self::EffectRequested(requested) = self {
            Some((requested.id, &requested.effect))
        } else {
            None
        }
    }
}
