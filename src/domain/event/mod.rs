//! Events: journaled facts. An event says what is true now; it never asks for a decision.
//!
//! Invariant: an event is small (a log line is at most 64 KiB) and contains no machine path, no
//! secret and no process identity. Kinds and fields are only ever added; removed ones stay
//! readable. Each kind has its own struct, one file per family. `decide` emits them, `evolve` folds
//! them, `journal` stores them.

mod attempt;
mod attention;
mod baseline;
mod checkpoint;
mod hook;
mod idea;
mod intervention;
mod memory;
mod merge;
mod provider;
mod records;
mod setup;
mod swarm;
mod transfer;

use serde::{Deserialize, Serialize};

use crate::domain::effect::Effect;
use crate::domain::ids::{AgentId, EffectId, IdeaId};
use crate::domain::lifecycle::{AttemptPhase, MergePhase};

pub use attempt::*;
pub use attention::*;
pub use baseline::*;
pub use checkpoint::*;
pub use hook::*;
pub use idea::*;
pub use intervention::*;
pub use memory::*;
pub use merge::*;
pub use provider::*;
pub use records::*;
pub use setup::*;
pub use swarm::*;
pub use transfer::*;

/// A journaled fact. The documentation of the variants is the reference page of events.
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
    /// All earlier lines are on disk.
    Mark(Mark),
    /// A daemon started and took over the state.
    DaemonStarted(DaemonStarted),
    /// The log begins where an earlier swarm was, whose numbers are not given out again.
    NumbersRaised(NumbersRaised),
    /// The swarm's phase changed.
    PhaseChanged(PhaseChanged),
    /// The swarm was paused; the pause survives a restart.
    PauseSet(PauseSet),
    /// The pause ended.
    PauseLifted(PauseLifted),
    /// The configuration changed; decisions use this one from now on.
    SettingsLoaded(SettingsLoaded),
    /// The mode was overridden; without `mode`, the configuration's is back in force.
    ModeSet(ModeSet),
    /// The system clock went backwards.
    ClockWentBack(ClockWentBack),
    /// The machine was suspended; no agent is charged for that time.
    MachineSlept(MachineSlept),
    /// The disk is full; nothing starts until the given time.
    RoomAwaited(RoomAwaited),
    /// Git cannot write the files of a worktree; no new one is made until the given time.
    WorktreesHeld(WorktreesHeld),
    /// Worktrees can be made again, or somebody may have mended the cause.
    WorktreesFreed(WorktreesFreed),
    /// The target was seen at a commit.
    TargetSeen(TargetSeen),
    /// The target no longer contains the commit at which it was last seen, and is adopted as it is
    /// now.
    TargetRewritten(TargetRewritten),
    /// The work of a landed idea is on the rewritten target as another commit.
    LandingFound(LandingFound),
    /// A person chose what happens to the ideas whose work the rewritten target lacks.
    TargetSettled(TargetSettled),

    /// The untouched target was checked out, to be checked before work begins. A commit that passed
    /// before is not checked again.
    BaselineReady(BaselineReady),
    /// A quality command started on the untouched target.
    BaselineStarted(BaselineStarted),
    /// A quality command passed on the untouched target.
    BaselinePassed(BaselinePassed),
    /// The untouched target failed its check.
    BaselineFailed(BaselineFailed),
    /// The check of the untouched target was interrupted, its failure may be over, or no failed
    /// check waits for it any more: it starts over when it is needed.
    BaselineCleared(BaselineCleared),
    /// The quality commands were probed: whether they see the tree that they check. A person who
    /// accepts a blind command takes its alarm away, in another such event.
    ChecksProbed(ChecksProbed),
    /// The untouched target must pass once more, in a worktree of its own, because a check failed
    /// and nobody knows yet whether the work or something outside it is at fault.
    BaselineDoubted(BaselineDoubted),
    /// A quality command failed in an agent's worktree. Nobody is charged before it has passed
    /// elsewhere.
    GateDoubted(GateDoubted),
    /// A quality command failed in an agent's worktree while the untouched target failed, too, or
    /// collided with another one: nobody is charged, and it runs again.
    GateExcused(GateExcused),
    /// A quality command failed on a merged tree. Nobody is charged before it has passed elsewhere.
    VerifyDoubted(VerifyDoubted),

    /// A setup command started.
    SetupStarted(SetupStarted),
    /// A setup command passed.
    SetupPassed(SetupPassed),

    /// An idea was added.
    IdeaAdded(IdeaAdded),
    /// An idea was changed.
    IdeaEdited(IdeaEdited),
    /// An idea that ended badly is pending again. Its crash count is reset; its failures still
    /// lower its score.
    IdeaRetried(IdeaRetried),
    /// An idea was cancelled.
    IdeaCancelled(IdeaCancelled),
    /// A person assigned the idea: it starts even in semi-auto mode.
    IdeaAssigned(IdeaAssigned),
    /// A person holds the idea: it does not start until it is released.
    IdeaHeld(IdeaHeld),
    /// A held idea may start again.
    IdeaUnheld(IdeaUnheld),

    /// An agent claimed an idea.
    IdeaClaimed(IdeaClaimed),
    /// An attempt's phase changed.
    AttemptMoved(AttemptMoved),
    /// The worktree of an attempt is ready.
    WorktreeReady(WorktreeReady),
    /// Finished work waits on its branch, and another idea may have its worktree.
    WorktreeLent(WorktreeLent),
    /// A worktree was not lent, because it holds more than its branch.
    WorktreeStays(WorktreeStays),
    /// An iteration started.
    IterationStarted(IterationStarted),
    /// A quality command started in the attempt's worktree.
    GateStarted(GateStarted),
    /// The repository's commit hooks started on what an agent left uncommitted.
    CommitHooksStarted(CommitHooksStarted),
    /// The commit hooks let it pass, so it is committed.
    CommitHooksPassed(CommitHooksPassed),
    /// The child process of a run started.
    RunStarted(RunStarted),
    /// A run ended.
    RunEnded(RunEnded),
    /// An agent sent a signal.
    SignalSeen(SignalSeen),
    /// An iteration without a result was counted against the limits.
    IterationJudged(IterationJudged),
    /// An iteration does not count, because the provider or the conversation was at fault. The
    /// event also holds the attempt, so that a torn log cannot contain half of it.
    IterationExcused(IterationExcused),
    /// An attempt started a conversation.
    SessionBegan(SessionBegan),
    /// An attempt's conversation cannot be resumed; the next iteration starts a new one.
    SessionDropped(SessionDropped),
    /// Usage of the current iteration so far.
    UsageSeen(UsageSeen),
    /// An agent's program waits for its provider, or got an answer again.
    ProviderAwaited(ProviderAwaited),
    /// An account must wait: none of its runs start.
    AccountHeld(AccountHeld),
    /// The wait is over, and one run tries whether the account works again.
    AccountTried(AccountTried),
    /// The account works again, or a person ended the wait.
    AccountFreed(AccountFreed),
    /// A profile's program cannot begin: none of its runs start.
    ProfileHeld(ProfileHeld),
    /// The wait is over, and one run tries whether the program begins now.
    ProfileTried(ProfileTried),
    /// The program begins again, or a person ended the wait.
    ProfileFreed(ProfileFreed),
    /// The daily budget paused the swarm.
    BudgetReached(BudgetReached),
    /// The commit of the branch after an iteration.
    AttemptSealed(AttemptSealed),
    /// A quality command passed in the attempt's worktree.
    GatePassed(GatePassed),
    /// A quality command failed; the next prompt contains the failure.
    GateFailed(GateFailed),
    /// The attempt got another task.
    TaskSet(TaskSet),
    /// A person sent an agent a message.
    MessageQueued(MessageQueued),
    /// An attempt was asked to end.
    EndingAsked(EndingAsked),
    /// An agent was redirected: its attempt ends, and another idea takes its place.
    AgentRedirected(AgentRedirected),
    /// The work in progress of a redirected attempt was committed.
    WorkSaved(WorkSaved),
    /// An attempt ended.
    AttemptEnded(AttemptEnded),

    /// Finished work entered the merge queue.
    MergeQueued(MergeQueued),
    /// The phase of a merge queue entry changed.
    MergeMoved(MergeMoved),
    /// A waiting merge is tried again now. Before there was a review: a held entry was approved.
    MergeReleased(MergeReleased),
    /// A person approved this commit of an entry that waits for review.
    MergeApproved(MergeApproved),
    /// A person returned work that waits for review, or that is approved, to its agent, with a
    /// comment.
    MergeRejected(MergeRejected),
    /// An approval no longer holds: the work waits for review again.
    ApprovalWithdrawn(ApprovalWithdrawn),
    /// The merge commit was built.
    MergeBuilt(MergeBuilt),
    /// The merge has a conflict.
    MergeConflicted(MergeConflicted),
    /// The conflict is in the worktree, ready to be resolved.
    ConflictLaidOut(ConflictLaidOut),
    /// The conflict was resolved; the branch contains the target.
    ConflictSettled(ConflictSettled),
    /// A resolver did not resolve the conflict.
    ResolverFailed(ResolverFailed),
    /// The merged tree was checked out.
    VerifyReady(VerifyReady),
    /// A quality command started on the merged tree.
    VerifyStarted(VerifyStarted),
    /// A quality command passed on the merged tree.
    VerifyPassed(VerifyPassed),
    /// The work returned to its agent for another iteration.
    MergeReturned(MergeReturned),
    /// The idea landed: the target contains its work.
    IdeaLanded(IdeaLanded),

    /// A checkpoint was made.
    CheckpointMade(CheckpointMade),
    /// A checkpoint was deleted.
    CheckpointDeleted(CheckpointDeleted),
    /// A rollback started.
    RollbackBegun(RollbackBegun),
    /// What the rollback will restore of an idea.
    RollbackPlanned(RollbackPlanned),
    /// The rollback reached its next step.
    RollbackStepped(RollbackStepped),
    /// The target and the ideas were restored to the checkpoint.
    RolledBack(RolledBack),
    /// The rollback was abandoned; the target and the ideas are unchanged.
    RollbackAbandoned(RollbackAbandoned),

    /// A person did something that `swarm undo` can take back.
    UndoRecorded(UndoRecorded),
    /// The cancellation of an idea was taken back.
    CancelUndone(CancelUndone),
    /// A redirect was taken back before the other idea had started.
    RedirectUndone(RedirectUndone),
    /// The work of a cancelled idea was saved when its worktree was released.
    WorkRescued(WorkRescued),

    /// A hook must be called about the next event. This event comes first, so that a torn log
    /// cannot contain the other without it.
    HookOwed(HookOwed),
    /// A hook that guards a step must be called.
    HookAsked(HookAsked),
    /// A hook call started.
    HookStarted(HookStarted),
    /// A hook call was interrupted by a crash or the daemon's shutdown; it is repeated.
    HookCutOff(HookCutOff),
    /// A hook call ended.
    HookFinished(HookFinished),
    /// A hook call timed out and was stopped.
    HookTimedOut(HookTimedOut),
    /// A person approved a hook that an agent's landed work changed.
    HookApproved(HookApproved),
    /// A learning was recorded, or reported once more.
    Learned(Learned),
    /// A fact was written.
    FactWritten(FactWritten),
    /// A fact got more evidence.
    FactConfirmed(FactConfirmed),
    /// A fact was contradicted.
    FactDisputed(FactDisputed),
    /// A person pinned a fact, or released it.
    FactPinned(FactPinned),
    /// A learning or a fact was taken back.
    MemoryRetracted(MemoryRetracted),
    /// A note of the scratchpad was written.
    NotePut(NotePut),
    /// Notes of the scratchpad were dropped, or expired.
    NotesDropped(NotesDropped),
    /// A prompt showed these parts of the memory.
    MemoryShown(MemoryShown),
    /// An iteration read these parts of the memory by itself.
    MemoryRead(MemoryRead),
    /// Old learnings and values of facts were dropped from the state; the log keeps them.
    MemoryCompacted(MemoryCompacted),
    /// A synthesis is over: its run has read the learnings up to this one, or has failed.
    Synthesised(Synthesised),
    /// The provenance record of an iteration was written, or cannot be.
    IterationRecorded(IterationRecorded),
    /// Old provenance records may be deleted.
    RecordsExpired(RecordsExpired),
    /// Somebody asked to replay a recorded iteration.
    ReplayAsked(ReplayAsked),
    /// A replay was compared with its record, or could not be.
    ReplayJudged(ReplayJudged),
    /// The next event carries out a request with an operation id. This event comes first, so that a
    /// torn log cannot contain the other without it.
    CommandTaken(CommandTaken),
    /// A warning for people was raised.
    WarningRaised(WarningRaised),
    /// A warning was cleared.
    WarningCleared(WarningCleared),

    /// Something needs a person, who is told of it.
    NeedArose(NeedArose),
    /// It no longer needs a person. If it comes up again, people are told again.
    NeedSettled(NeedSettled),
    /// Work began.
    NightBegan(NightBegan),
    /// Work came to rest: nothing can continue without a person, who is told of it.
    NightEnded(NightEnded),
    /// The webhook accepted a notice; it is never sent again.
    NoticeDelivered(NoticeDelivered),
    /// The webhook did not accept a notice.
    NoticeFailed(NoticeFailed),

    /// An effect was requested: the daemon must carry it out.
    EffectRequested(EffectRequested),
    /// An effect was carried out, or failed.
    EffectFinished(EffectFinished),

    /// Damaged state was repaired; events were lost, and their numbers are never reused.
    StateRepaired(StateRepaired),
    /// After a repair the log starts here; a file beside it contains the whole state after this
    /// record.
    StateRestored(StateRestored),

    /// The swarm was imported from an archive: the events before this one are the archive's.
    /// Nothing is under way, and nothing of the other machine is trusted.
    SwarmImported(SwarmImported),
    /// An idea continues from work that came with the archive.
    WorkImported(WorkImported),
    /// The swarm has moved away in an archive: nothing changes here until it is reclaimed.
    SwarmMoved(SwarmMoved),
    /// A person reclaimed the swarm: it works here again.
    SwarmReclaimed(SwarmReclaimed),
    /// The state of an agent was imported: the first prompt of each further attempt at this idea
    /// says what that agent did. A new idea names it in its `ideaAdded` too.
    AgentImported(AgentImported),
}

impl Event {
    /// Its kind, as written in the log.
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
            return Some((&excused.agent, excused.phase));
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
